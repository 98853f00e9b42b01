import { ApiError } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { EtcdClient } from '../etcd/client.ts'
import type { Member as EtcdMember } from '../etcd/members.ts'
import type { EtcdService } from './etcd-service.ts'
import { type NodeAddress, peerUrl } from './node-address.ts'
import { patiently, type Waiting } from './patience.ts'

/**
 * Makes room in etcd for an empty member of this node or witness. It follows without a vote, because a member that
 * never starts must not cost the others their quorum. A member that is listed in its place is removed first: once a
 * member has answered the leader, etcd sends it only later entries, and if it has lost its earlier ones it panics at
 * each start.
 *
 * Returns the peer URLs of each member by node id, including the new one. It must be started with exactly the members
 * that etcd lists: a node in maintenance may be in the log and have no member.
 */
export async function makeRoom(
  { members }: { readonly members: Pick<EtcdClient['members'], 'list' | 'add' | 'remove'> },
  { id, ...place }: NodeAddress & { readonly id: string },
): Promise<Readonly<Record<string, readonly string[]>>> {
  const url = peerUrl(place)
  const isLost = ({ name, peerUrls }: EtcdMember) => peerUrls.includes(url) && (name === '' || name === id)
  const lost = (await members.list()).find(isLost)
  if (lost !== undefined) await members.remove(lost.id)
  await members.add([url], { isLearner: true })
  // The new member has no name before it starts.
  const named = (await members.list()).map(({ name, peerUrls }) => [name === '' ? id : name, peerUrls] as const)
  return Object.fromEntries(named)
}

/**
 * Output of etcd when the member it asks lists other members than those it was started with, and when none answers in
 * time.
 */
const PASSING = ['error validating peerURLs', 'could not retrieve cluster information']

/**
 * Starts the etcd of a newcomer. etcd compares the members in its arguments with those that another member lists, and
 * ends if they differ. A member that has just started itself lists earlier members, because it is still replaying its
 * log, or does not answer yet.
 */
export const startNewcomer = (waiting: Waiting, service: Pick<EtcdService, 'restart'>): Promise<void> =>
  patiently(
    waiting,
    () => service.restart(),
    (error) => error instanceof ApiError && PASSING.some((said) => error.message.includes(said)),
  )

/** Time for a first start; doubled each time, because there may be much to read. */
const PATIENCE_MS = 10_000
/** Time after which messages from before the stop have arrived. */
const SAID_MS = 1_000

/**
 * Detects a new etcd member that never comes up. etcd derives the id of a new member from another member's list, which
 * may include earlier members; so a node that joins right after another has left may get that one's id, and no member
 * talks to it. The list shows this: the member has no name there. Without a name it has no vote, and nothing depends on
 * it, so it can be replaced.
 */
export class Unnamed {
  readonly #clock: Waiting['clock']
  #since_ms: number | undefined
  #patience_ms = PATIENCE_MS

  constructor(clock: Waiting['clock']) {
    this.#clock = clock
  }

  /** Whether the member has been unnamed for too long, given whether it is unnamed now. */
  isLate(isSo: boolean): boolean {
    const now_ms = this.#clock.monotonic_ms()
    if (!isSo) this.#since_ms = undefined
    else if (now_ms - (this.#since_ms ??= now_ms) >= this.#patience_ms) {
      this.#since_ms = undefined
      this.#patience_ms *= 2
      return true
    }
    return false
  }
}

function isUnnamed(listed: readonly EtcdMember[], member: NodeAddress): boolean {
  const url = peerUrl(member)
  return listed.some(({ name, isLearner, peerUrls }) => name === '' && isLearner && peerUrls.includes(url))
}

export interface FirstStartParts extends Waiting {
  readonly own: NodeAddress
  readonly etcd: { readonly members: Pick<EtcdClient['members'], 'list'> }
  readonly service: Pick<EtcdService, 'start' | 'stop'>
  readonly log: Log
}

/** Detects this for the member beside this daemon. */
export class FirstStart {
  readonly #parts: FirstStartParts
  readonly #unnamed: Unnamed

  constructor(parts: FirstStartParts) {
    this.#parts = parts
    this.#unnamed = new Unnamed(parts.clock)
  }

  /**
   * `listed`: the members as a majority knows them. Returns whether this member does not come up; it is then stopped.
   */
  async isInVain(listed: readonly EtcdMember[]): Promise<boolean> {
    const { own, service, etcd, log, wait } = this.#parts
    if (!this.#unnamed.isLate(isUnnamed(listed, own))) return false
    await service.stop()
    await wait(SAID_MS)
    if (isUnnamed(await etcd.members.list(), own)) {
      log.warn('the etcd member of this node does not start, and is replaced')
      return true
    }
    await service.start()
    return false
  }
}
