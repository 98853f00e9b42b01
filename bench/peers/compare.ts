import { startBare } from '../load.ts'
import { median, spread, table, whole } from '../measure.ts'
import type { DataSet } from './data-set.ts'
import type { Fulcrum } from './fulcrum.ts'
import { getText, measureHttp } from './http-queries.ts'
import type { Peer, Rate } from './peer.ts'
import { checkTotals, type Query, type Window } from './windows.ts'
import { scaled } from '../scale.ts'

const ROUNDS = scaled(3, 1)
/** A smoke run checks all windows, and measures one for each kind of query: of one object, and of a group. */
const isMeasured: (window: Window) => boolean = scaled(
  () => true,
  ({ title }: Window) => title.endsWith('1 h at 1 s'),
)

/** Queries per second of one tool for one window, by round. */
export interface Measured {
  readonly name: string
  readonly asks: string
  readonly fixed: number[]
  readonly rolling: number[]
  single: Rate
}

/** Checks each tool's answers against the model, for the fixed query and some of the rolling ones. */
async function checkAnswers(window: Window, peers: readonly Peer[], data: DataSet): Promise<void> {
  for (const query of [0, 1, 7].flatMap((n) => window.queries[n] ?? [])) {
    const wanted = data.totals(query.objects, query.start_s, query.end_s)
    for (const peer of peers) checkTotals(`${peer.name}, ${window.title}`, await peer.ask(query), wanted)
  }
}

/** Measures three rounds in turn, so that other load of the machine affects every tool. */
async function measureWindow(window: Window, peers: readonly Peer[], fulcrum: Fulcrum): Promise<readonly Measured[]> {
  const none = { perSecond: Number.NaN, p50_ms: Number.NaN, p99_ms: Number.NaN }
  const { queries, round_s, clients } = window
  const fixed: readonly Query[] = queries.slice(0, 1)
  const rows = peers.map(({ name, asks }): Measured => ({ name, asks, fixed: [], rolling: [], single: none }))
  const bare: Measured = { name: 'bare uWebSockets.js', asks: 'the same bytes', fixed: [], rolling: [], single: none }
  const [query] = fixed
  if (query === undefined) throw new Error('a window without queries')
  const body = Buffer.from(await getText(fulcrum.server, fulcrum.path(query)))
  const limit = await startBare(body)
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [n, peer] of peers.entries()) {
        rows[n]?.fixed.push((await peer.measure(fixed, round_s, clients)).perSecond)
        rows[n]?.rolling.push((await peer.measure(queries, round_s, clients)).perSecond)
      }
      const rate = await measureHttp({ origin: new URL(limit.url).origin, headers: {} }, ['/'], round_s, clients)
      bare.fixed.push(rate.perSecond)
    }
  } finally {
    limit.stop()
  }
  for (const [n, peer] of peers.entries()) {
    const row = rows[n]
    if (row !== undefined) row.single = await peer.measure(queries, 1, 1)
  }
  return [...rows, bare]
}

const range = (values: readonly number[]) =>
  values.length === 0
    ? '–'
    : median(values) < 100
      ? spread(values)
      : `${whole(median(values))} (${whole(Math.min(...values))}–${whole(Math.max(...values))})`
const milliseconds = (value: number) => (Number.isNaN(value) ? '–' : value.toFixed(2))

/** Checks, measures and prints every window. */
export async function compareWindows(
  windows: readonly Window[],
  peers: readonly Peer[],
  fulcrum: Fulcrum,
  data: DataSet,
): Promise<ReadonlyMap<string, readonly Measured[]>> {
  const results = new Map<string, readonly Measured[]>()
  for (const window of windows) {
    await checkAnswers(window, peers, data)
    if (!isMeasured(window)) continue
    const rows = await measureWindow(window, peers, fulcrum)
    results.set(window.title, rows)
    table(
      `${window.title}: queries per second, ${window.clients} clients over HTTP, one on a pipe`,
      ['tool', 'asked', 'the same window (range)', 'rolling windows (range)', 'rolling, one client: p50 ms', 'p99 ms'],
      rows.map(({ name, asks, fixed, rolling, single }) => [
        name,
        asks,
        range(fixed),
        range(rolling),
        milliseconds(single.p50_ms),
        milliseconds(single.p99_ms),
      ]),
    )
  }
  return results
}
