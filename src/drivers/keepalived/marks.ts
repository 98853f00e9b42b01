import type { L4Frontend } from '../../model/layer4.ts'
import { parsePorts } from '../../model/ports.ts'
import type { ConfigView } from '../../model/sections.ts'

/** First mark of ours; by custom, other users of the packet mark use smaller ones. */
export const FIRST_MARK = 0x4000_0000
/** Number of places for frontends, each with room for its generations. */
const PLACES = 2 ** 26
const ROOM = 4
/**
 * Services between which a client of a persistent frontend can be moved, so that this client alone is balanced again.
 */
export const GENERATIONS = 3

export function isOnePort({ ports }: Pick<L4Frontend, 'ports'>): boolean {
  const [range, ...others] = parsePorts(ports) ?? []
  return range !== undefined && others.length === 0 && range.first === range.last
}

/** A service of one address and port needs no mark, unless single clients are to be moved. */
const needsMarks = (frontend: L4Frontend, view: ConfigView): boolean =>
  !isOnePort(frontend) || isPersistent(frontend, view)

const isPersistent = (frontend: L4Frontend, view: ConfigView): boolean =>
  (view.get('l4Backends', frontend.backendId)?.persistTimeout ?? 0) > 0

/**
 * Returns the firewall marks of each frontend that uses them; new clients get the first. A mark depends only on the
 * frontend's id (FNV-1a; taken places move up, in the order of ids), so that connections survive changes of other
 * frontends.
 */
export function marksOf(view: ConfigView): ReadonlyMap<string, readonly number[]> {
  const marks = new Map<string, readonly number[]>()
  const taken = new Set<number>()
  const frontends = [...view.list('l4Frontends')].sort((a, b) => (a.id < b.id ? -1 : 1))
  for (const frontend of frontends) {
    let place = placeOf(frontend.id)
    while (taken.has(place)) place = (place + 1) % PLACES
    taken.add(place)
    if (!needsMarks(frontend, view)) continue
    const first = FIRST_MARK + place * ROOM
    // A service without persistence has a mark of its own: clients that were moved while it was persistent are not
    // moved from it.
    marks.set(
      frontend.id,
      isPersistent(frontend, view)
        ? Array.from({ length: GENERATIONS }, (_, generation) => first + generation)
        : [first + GENERATIONS],
    )
  }
  return marks
}

function placeOf(id: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193)
  return (hash >>> 0) % PLACES
}
