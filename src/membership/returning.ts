import { setTimeout as sleep } from 'node:timers/promises'
import type { SharedStore } from '../../storage/config/shared-store.ts'
import type { Log } from '../base/log.ts'
import type { EtcdClient } from '../etcd/client.ts'
import type { ClusterFiles, OwnMembership } from './cluster-files.ts'
import type { EtcdService } from './etcd-service.ts'
import { makeRoom } from './first-start.ts'
import type { Members } from './members.ts'

export interface ReturningParts {
  readonly own: OwnMembership
  readonly etcd: { readonly members: Pick<EtcdClient['members'], 'list' | 'add' | 'remove'> }
  readonly members: Pick<Members, 'epoch'>
  readonly files: Pick<ClusterFiles, 'change' | 'keepArguments'>
  readonly service: Pick<EtcdService, 'argumentsOf'>
}

/**
 * Drops a node's share of a history that has ended: its etcd member, its store's position in the log, and the reason
 * why it was halted, if it was.
 */
export async function startOver(
  store: Pick<SharedStore, 'startOver'>,
  files: Pick<ClusterFiles, 'wipeEtcd' | 'forgetHalt'>,
  service: Pick<EtcdService, 'stop'>,
): Promise<void> {
  await service.stop()
  await files.wipeEtcd()
  await store.startOver()
  await files.forgetHalt()
}

/**
 * Gives a returning node a new etcd member, one that follows without a vote, like that of a joining node. The old
 * member's data are already gone, and nothing may be wiped any more once the new one starts, so the return is recorded
 * as over before. The caller starts the member, and must know by then that it has one: a failed start is retried
 * without deleting anything.
 */
export async function comeBack({ own, etcd, members, files, service }: ReturningParts): Promise<void> {
  const known = await makeRoom(etcd, { ...own, id: own.nodeId })
  await files.keepArguments(service.argumentsOf(own, known, 'existing'))
  await files.change({ isReturning: undefined, vote: undefined, epoch: members.epoch })
}

/** How long a start waits for the others before it continues with its own state. */
const CATCH_UP_MS = 10_000

/** Waits for the state of the others. `onReturned`: the node returns to another history, and has it only now. */
export async function caughtUp(
  others: Promise<unknown>,
  { isReturning = false }: Pick<OwnMembership, 'isReturning'>,
  log: Pick<Log, 'warn'>,
  onReturned: () => void,
): Promise<void> {
  const end = new AbortController()
  // Aborted at the end: the timer must not keep a daemon alive that finds out during its start that it was removed.
  const isLate = sleep(CATCH_UP_MS, 'late' as const, { signal: end.signal }).catch(() => undefined)
  if ((await Promise.race([others, isLate])) === 'late') {
    log.warn('too few nodes of the cluster answer; this one continues with its own state')
    if (isReturning) void others.then(onReturned)
  }
  end.abort()
}
