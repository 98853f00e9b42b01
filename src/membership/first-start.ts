import { ApiError } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { EtcdClient } from '../etcd/client.ts'
import type { Member as EtcdMember } from '../etcd/members.ts'
import type { EtcdService } from './etcd-service.ts'
import { type NodeAddress, peerUrl } from './node-address.ts'
import { patiently, type Waiting } from './patience.ts'

/**
 * Makes room in etcd for a member of this node or witness that begins with nothing. It follows without a vote, because
 * a member that never starts must not cost the others their quorum. A member that is listed in its place goes first:
 * once a member has answered the leader, etcd sends it only later entries, and if it has lost its earlier ones it
 * panics at each start.
 *
 * Answers the peer URLs of each member by the id of its node, including the new one. It has to be started with those
 * that etcd lists and no others: a node in maintenance may be in the log and have no member.
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
  // It has no name before it is started.
  const named = (await members.list()).map(({ name, peerUrls }) => [name === '' ? id : name, peerUrls] as const)
  return Object.fromEntries(named)
}

/**
 * What etcd says when the member it asks lists other members than it was started with, and when none answers it in
 * time.
 */
const PASSING = ['error validating peerURLs', 'could not retrieve cluster information']

/**
 * Starts the etcd of a newcomer. It compares the members it was told of with those that another one lists, and ends if
 * they differ. A member that was itself started a moment ago lists earlier members, because it is still replaying its
 * log, or does not answer yet.
 */
export const startNewcomer = (waiting: Waiting, service: Pick<EtcdService, 'restart'>): Promise<void> =>
  patiently(
    waiting,
    () => service.restart(),
    (error) => error instanceof ApiError && PASSING.some((said) => error.message.includes(said)),
  )

/** Patience with its first start; twice as long each time, because there may be much for it to read. */
const PATIENCE_MS = 10_000
/** What it has said before it was stopped is there by then. */
const SAID_MS = 1_000

/**
 * A new member of etcd derives its id from the list that another one answers, which may include earlier members; so a
 * node that joins where another has just left may get that one's id, and nobody talks to it. The list shows this: the
 * member has no name there. Without a name it has no vote, and nothing that anybody relies on, so it is replaced.
 */
export class Unnamed {
  readonly #clock: Waiting['clock']
  #since_ms: number | undefined
  #patience_ms = PATIENCE_MS

  constructor(clock: Waiting['clock']) {
    this.#clock = clock
  }

  /** Whether a member is so for too long, if it is so now. */
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

/** The same of the member beside this daemon. */
export class FirstStart {
  readonly #parts: FirstStartParts
  readonly #unnamed: Unnamed

  constructor(parts: FirstStartParts) {
    this.#parts = parts
    this.#unnamed = new Unnamed(parts.clock)
  }

  /** `listed`: as a majority knows them. Answers whether this member does not come up; it has ended then. */
  async isInVain(listed: readonly EtcdMember[]): Promise<boolean> {
    const { own, service, etcd, log, wait } = this.#parts
    if (!this.#unnamed.isLate(isUnnamed(listed, own))) return false
    await service.stop()
    await wait(SAID_MS)
    if (isUnnamed(await etcd.members.list(), own)) {
      log.warn('the member of etcd of this node does not come up, and is replaced')
      return true
    }
    await service.start()
    return false
  }
}
