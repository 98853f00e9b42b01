import { X509Certificate } from 'node:crypto'
import type { Log } from '../base/log.ts'
import { changeKeys, type KeyChangeParts } from './key-change.ts'
import type { AuthorityPair } from './members.ts'

export interface AgingParts extends KeyChangeParts {
  /** Whether this node is responsible for automatic work. */
  readonly isEldest: () => boolean
  readonly log: Log
}

const DAY_MS = 86_400_000
/**
 * A node that is away delays the change. It can return while its certificates are valid, which is a year, and then
 * needs both authorities; a node that is away for longer must be removed by a person, who has a second year to notice.
 * Until the last year begins, the old authorities issue certificates for a whole year.
 */
const CHANGED_BEFORE_MS = 2 * 365 * DAY_MS

/**
 * Begins a change of the authorities long before they end, as a removal does, with a new cluster key. Rejects if etcd
 * does not answer; then it must be called again.
 */
export async function replaceAging(parts: AgingParts): Promise<void> {
  const { members, clock, isEldest, log } = parts
  const newest = members.authorities().at(-1)
  if (newest === undefined) return
  const end_ms = endOf(newest)
  if (end_ms - clock.now_ms() >= CHANGED_BEFORE_MS) return
  // A pending removal creates new authorities itself.
  const isRemoving = members.removed().some(({ stage }) => stage !== 'done')
  if (isRemoving || !isEldest()) return
  await changeKeys(parts, newest.keyId)
  const end = new Date(end_ms).toISOString()
  log.info('the authorities of the cluster expire soon, so new ones were created', { end })
}

/** The end of the one that expires first. */
const endOf = ({ certificates: { peer, client } }: AuthorityPair): number =>
  Math.min(...[peer, client].map((pem) => Date.parse(new X509Certificate(pem).validTo)))
