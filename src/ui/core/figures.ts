/** Single numbers from the figures of a service or a server: unknown numbers are undefined, not 0. */

export type Figure = Readonly<Record<string, number | string | null | undefined>>

/** Returns the first of these fields that is a number. */
function numberIn(figure: Figure | undefined, names: readonly string[]): number | undefined {
  return names.map((name) => figure?.[name]).find((value) => typeof value === 'number')
}

/** The two layers have different names for the same figure. */
const REQUESTS = ['requestRate', 'sessionRate', 'connectionsPerSecond'] as const
const NEW = ['sessionRate', 'connectionsPerSecond'] as const
const OPEN = ['currentSessions', 'activeConnections'] as const

/** Returns the requests, or connections, per second. HAProxy reports 0 requests for tcp mode. */
export const rateOf = (figure: Figure | undefined): number | undefined =>
  numberIn(figure, figure?.['mode'] === 'tcp' ? NEW : REQUESTS)

function sumOf(figures: readonly Figure[], names: readonly string[]): number | undefined {
  const told = figures.flatMap((one) => numberIn(one, names) ?? [])
  return told.length === 0 ? undefined : told.reduce((sum, one) => sum + one, 0)
}

/** Returns the open connections of one server, over all backends that contain it. */
export const openIn = (figures: readonly Figure[]): number | undefined => sumOf(figures, OPEN)
export const newIn = (figures: readonly Figure[]): number | undefined => sumOf(figures, NEW)
export const failedIn = (figures: readonly Figure[]): number | undefined => sumOf(figures, ['responses5xx'])

type Counted = Readonly<Record<'total' | 'up' | 'down' | 'unknown', number>>

/** Counts the checked servers of both layers; the others count as unknown. */
export function serversChecked(all: readonly Counted[]) {
  const sum = (name: keyof Counted) => all.reduce((so, one) => so + one[name], 0)
  const [up, down, unknown] = [sum('up'), sum('down'), sum('unknown')]
  return { up, down, unknown, known: sum('total') - unknown }
}

/** Returns how many servers of a backend accept new connections. */
export function serversUp(figure: Figure | undefined): number | undefined {
  const active = numberIn(figure, ['activeServers'])
  return active === undefined ? numberIn(figure, ['realsUp']) : active + (numberIn(figure, ['backupServers']) ?? 0)
}
