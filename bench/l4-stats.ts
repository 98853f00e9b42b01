/**
 * `npm run bench -- l4-stats`: cost of the statistics of Layer 4, on the answers of a simulated kernel. For the real
 * kernel, compared with `ipvsadm`, see bench/l4-kernel.ts, which needs a machine of its own.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ipvsPlan } from '../src/ipvs/names.ts'
import { IpvsReader } from '../src/ipvs/reader.ts'
import { RunningNames } from '../src/stats/running-names.ts'
import { Layer4Health } from '../src/stats/layer4-health.ts'
import { Layer4Live } from '../src/stats/layer4-live.ts'
import { TWO_SECOND_TIERS } from '../storage/archive/tiers.ts'
import { ArchiveWriter } from '../storage/archive/writer.ts'
import { IpvsCollector } from '../workers/archive/ipvs-collector.ts'
import { IpvsPlaces } from '../workers/archive/ipvs-places.ts'
import { ipvsRows } from '../workers/archive/ipvs-rows.ts'
import { IpvsTotals } from '../workers/archive/ipvs-totals.ts'
import { IpvsSimulator } from '../test/simulators/ipvs-simulator.ts'
import { viewOf } from '../test/fixtures/view.ts'
import { farmOf, ipvsadmRules, replayed } from './l4-farm.ts'
import { spread, table, timed } from './measure.ts'
import { scaled } from './scale.ts'

const SIZE = scaled({ services: 1_000, reals: 20 }, { services: 10, reals: 20 })
const ROUNDS = scaled(40, 1)
const START = 895_000_000

async function measured(work: () => unknown, rounds = ROUNDS): Promise<string> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) times.push(await timed(work))
  return spread(times, 2)
}

export async function run(): Promise<void> {
  const kernel = new IpvsSimulator()
  for (const rule of ipvsadmRules(SIZE)) kernel.ipvsadm(...rule.split(' '))
  const view = viewOf(farmOf(SIZE))
  const reader = new IpvsReader(replayed(kernel.channel()))
  reader.read()
  const rows: (readonly string[])[] = []
  rows.push(['the table read over netlink (simulated kernel)', await measured(() => reader.read())])
  rows.push(['owners of the table’s entries, after an apply', await measured(() => ipvsPlan(view, 1), 5)])
  const plan = ipvsPlan(view, 1)
  const places = new IpvsPlaces()
  const follow = () => {
    places.take(plan)
    places.follow(reader.table)
  }
  rows.push(['places looked up again, after a change of the table', await measured(follow, 5)])
  rows.push(['figures of 22,000 objects', await measured(() => ipvsRows(reader.table, places))])
  const figures = ipvsRows(reader.table, places)
  rows.push(['a whole tick: read, add up, count, store', await ticks(reader, places)])
  const health = new Layer4Health(view)
  const reading = { plan, figures, isChanging: false }
  rows.push(['health of 20,000 real servers', await measured(() => health.read({ ...reading, now_ms: 0 }))])
  const names = new RunningNames(view, () => 1, 4)
  const live = new Layer4Live({ running: view, revision: () => 1, names, health, nonce: 'n' })
  let bytes = 0
  const render = (kind: 'all' | 'frontends') => () => {
    live.update({ figures, since_ms: 1, reason: undefined }, plan)
    bytes = live.render({ kind })?.body.length ?? 0
  }
  render('all')()
  rows.push([`every live figure (${(bytes / 1e6).toFixed(1)} MB)`, await measured(render('all'), 10)])
  rows.push(['live figures of 1,000 frontends', await measured(render('frontends'))])
  table(`Layer 4: ${SIZE.services} services × ${SIZE.reals} real servers, ms`, ['what', 'median (range)'], rows)
}

async function ticks(reader: IpvsReader, places: IpvsPlaces): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  const writer = new ArchiveWriter(directory, START, TWO_SECOND_TIERS)
  const collector = new IpvsCollector(writer, places)
  const totals = new IpvsTotals(places)
  let second = 0
  const tick = () => {
    second++
    const time = { archive_s: START + second, monotonic_s: second }
    reader.read()
    places.follow(reader.table)
    const figures = ipvsRows(reader.table, places)
    collector.absorb(reader.table, figures, time)
    totals.add(collector.increments, figures)
    collector.close(START + second, time)
  }
  for (let warm = 0; warm < 3; warm++) tick()
  try {
    return await measured(tick)
  } finally {
    await writer.close()
    rmSync(directory, { recursive: true })
  }
}
