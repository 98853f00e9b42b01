/**
 * The same samples and windows in Fulcrum and in Debian's tools for this purpose, side by side in one run. Every answer
 * is checked against the model before it is timed; tools that are missing or cannot be loaded fairly are named.
 */
import { whole } from '../measure.ts'
import { atLeast, leadOver, type Outcome, printAims } from './aims.ts'
import { compareWindows, type Measured } from './compare.ts'
import { DataSet } from './data-set.ts'
import { printFed, printHeld, printKept } from './footprints.ts'
import { Fulcrum } from './fulcrum.ts'
import { compareLive } from './live.ts'
import type { Footprint, Peer } from './peer.ts'
import { choosePeers, findPrograms, type Programs } from './tools.ts'
import { makeWindows } from './windows.ts'
import { scaled } from '../scale.ts'

const ROUND_S = scaled(2, 0.2)
const YEARS_MS_MAX = 3

function windowOutcomes(results: ReadonlyMap<string, readonly Measured[]>): readonly Outcome[] {
  const years = results.get('2 y at 1 h')?.find(({ name }) => name === 'Fulcrum')?.single.p50_ms ?? Number.NaN
  const [minute, hour] = [results.get('60 s at 1 s'), results.get('1 h at 1 s')]
  return [
    atLeast('1 h at 1 s, the same window, over the best peer', leadOver(hour, 'fixed'), 5),
    atLeast('1 h at 1 s, rolling windows, over the best peer', leadOver(hour, 'rolling'), 3),
    atLeast('60 s, the same window, over the best peer', leadOver(minute, 'fixed'), 3),
    atLeast('60 s, rolling windows, over the best peer', leadOver(minute, 'rolling'), 3),
    {
      what: '2 y, rolling windows, one client, over HTTP',
      aim: `< ${YEARS_MS_MAX} ms`,
      got: `${years.toFixed(2)} ms`,
      met: years < YEARS_MS_MAX,
    },
  ]
}

async function compareWithLoaded(peers: readonly Peer[], fulcrum: Fulcrum, data: DataSet): Promise<readonly Outcome[]> {
  const footprints = new Map<Peer, Footprint>()
  for (const peer of peers) footprints.set(peer, await peer.load())
  const windows = makeWindows(data, ROUND_S)
  const results = await compareWindows(windows, peers, fulcrum, data)
  const query = windows[1]?.queries[0]
  if (query !== undefined) await printHeld(peers, footprints, data, query)
  return windowOutcomes(results)
}

async function liveOutcomes(fulcrum: Fulcrum, haproxy: string | undefined): Promise<readonly Outcome[]> {
  if (haproxy === undefined) return []
  const [ours = 0, csv = Number.NaN, json = Number.NaN] = await compareLive(fulcrum, haproxy)
  return [atLeast('live, over HAProxy’s CSV', ours / csv, 4), atLeast('live, over HAProxy’s JSON', ours / json, 50)]
}

async function footprintOutcomes(programs: Programs, end_s: number): Promise<readonly Outcome[]> {
  const [small = Number.NaN, large = Number.NaN] = await printFed(programs, end_s)
  const smaller = await printKept(end_s)
  return [
    atLeast('fewer bytes written than rrdcached, 200 objects', small, 15),
    atLeast('fewer bytes written than rrdcached, 2,000 objects', large, 15),
    atLeast('smaller than rrdtool for the same buckets', smaller, 5),
  ]
}

export async function run(): Promise<void> {
  const programs = findPrograms()
  const data = new DataSet(Math.floor(Date.now() / 1_000))
  const { peers, leftOut } = choosePeers(programs, data)
  const outcomes: Outcome[] = []
  console.log(
    `\n## Beside other tools\n\n${data.objects.length} objects × 4 metrics, ${whole(data.samples)} samples; three interleaved rounds; wrk -t1 for HTTP, one client for a pipe or a socket. Every answer was checked against the model first. Each long window has an object of its own with one sample per bucket, which spares the tools without coarser archives their consolidation.\n\nLeft out:\n${leftOut.map((line) => `- ${line}`).join('\n')}`,
  )
  const fulcrum = await Fulcrum.start(data)
  try {
    outcomes.push(...(await compareWithLoaded([fulcrum, ...peers], fulcrum, data)))
    outcomes.push(...(await liveOutcomes(fulcrum, programs.haproxy)))
  } finally {
    for (const peer of [...peers.toReversed(), fulcrum]) await peer.stop()
  }
  outcomes.push(...(await footprintOutcomes(programs, data.end_s)))
  printAims(outcomes)
}

if (import.meta.main) await run()
