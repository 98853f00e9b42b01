import type { ConfigStore, RevisionHeader } from '../../storage/config/config-store.ts'
import { ApiError } from '../base/errors.ts'

/** On average one revision every 43 seconds. */
export const OF_ONE_PER_DAY_MAX = 2_000
const DAY_MS = 86_400_000
/** The name by which the daemon calls itself. */
const DAEMON = 'fulcrum'

/** Stops one user from pushing older revisions out with many small applies in a day. */
export function refuseRevisionFlood(
  store: Pick<ConfigStore, 'revision' | 'revisionHeaders'>,
  { by, at }: Pick<RevisionHeader, 'by' | 'at'>,
  max = OF_ONE_PER_DAY_MAX,
): void {
  const since_ms = Date.parse(at) - DAY_MS
  const isOfToday = (header: RevisionHeader) => Date.parse(header.at) > since_ms
  // Usually all users together have made fewer, which one look-up shows.
  const [edge] = store.revisionHeaders(1, store.revision - max + 2)
  if (edge === undefined || !isOfToday(edge)) return
  const all = store.revisionHeaders(store.revision)
  // A revision by which the daemon took back an unconfirmed apply counts as its author's.
  const ownerOf = ({ by: maker }: RevisionHeader, place: number) => (maker === DAEMON ? all[place + 1]?.by : maker)
  const own = all.filter((header, place) => ownerOf(header, place) === by && isOfToday(header))
  const first = own[max - 1]
  if (first === undefined) return
  const left_s = Math.max(1, Math.ceil((Date.parse(first.at) - since_ms) / 1000))
  throw new ApiError(
    'TOO_MANY_AT_ONCE',
    `You created ${own.length} revisions in a day, and more would displace older ones; apply several changes together, or try again in ${left_s} seconds`,
    { headers: { 'Retry-After': String(left_s) } },
  )
}
