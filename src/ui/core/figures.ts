/** A few numbers of what is told of a service or a server: what nobody knows is undefined, and not 0. */

export type Figure = Readonly<Record<string, number | string | null | undefined>>

/** The first of these that is told. */
function numberIn(figure: Figure | undefined, names: readonly string[]): number | undefined {
  return names.map((name) => figure?.[name]).find((value) => typeof value === 'number')
}

/** Both layers have a name of their own for what is the same. */
const REQUESTS = ['requestRate', 'sessionRate', 'connectionsPerSecond'] as const
const NEW = ['sessionRate', 'connectionsPerSecond'] as const
const OPEN = ['currentSessions', 'activeConnections'] as const

/** What comes in each second: requests, or connections. HAProxy tells 0 requests of what is in tcp mode. */
export const rateOf = (figure: Figure | undefined): number | undefined =>
  numberIn(figure, figure?.['mode'] === 'tcp' ? NEW : REQUESTS)

function sumOf(figures: readonly Figure[], names: readonly string[]): number | undefined {
  const told = figures.flatMap((one) => numberIn(one, names) ?? [])
  return told.length === 0 ? undefined : told.reduce((sum, one) => sum + one, 0)
}

/** Open connections of one server, over all backends that contain it. */
export const openIn = (figures: readonly Figure[]): number | undefined => sumOf(figures, OPEN)
export const newIn = (figures: readonly Figure[]): number | undefined => sumOf(figures, NEW)
export const failedIn = (figures: readonly Figure[]): number | undefined => sumOf(figures, ['responses5xx'])

type Counted = Readonly<Record<'total' | 'up' | 'down' | 'unknown', number>>

/** Servers of both layers that are checked; the others are counted separately, because their state is unknown. */
export function serversChecked(all: readonly Counted[]) {
  const sum = (name: keyof Counted) => all.reduce((so, one) => so + one[name], 0)
  const [up, down, unknown] = [sum('up'), sum('down'), sum('unknown')]
  return { up, down, unknown, known: sum('total') - unknown }
}

/** How many servers of a backend take new connections. */
export function serversUp(figure: Figure | undefined): number | undefined {
  const active = numberIn(figure, ['activeServers'])
  return active === undefined ? numberIn(figure, ['realsUp']) : active + (numberIn(figure, ['backupServers']) ?? 0)
}
