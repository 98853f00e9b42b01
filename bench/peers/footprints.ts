/** Tables of the cost of holding and following the data. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TIERS } from '../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../storage/archive/writer.ts'
import { table, whole } from '../measure.ts'
import { type DataSet, DAY_S, METRIC_NAMES, valueAt } from './data-set.ts'
import {
  feedArchive,
  type FeedCost,
  feedPrometheus,
  feedRrdcached,
  type FeedSize,
  feedVictoriaMetrics,
  samplesOf,
} from './feed.ts'
import { feedObjects } from './feed-objects.ts'
import type { Footprint, Peer } from './peer.ts'
import { diskBytes } from './programs.ts'
import type { Programs } from './tools.ts'
import { checkTotals, type Query } from './windows.ts'
import { scaled } from '../scale.ts'

const FED_SECONDS = scaled(600, 20)
const FED_OBJECTS = scaled([200, 2_000], [20])
const KEPT_OBJECTS = scaled(50, 2)
const KEPT_S = scaled(DAY_S, 600)
const SECONDS_PER_COMMIT = 10
const BYTES_PER_DOUBLE = 8

const digits = (value: number, places: number) => (Number.isNaN(value) ? '–' : value.toFixed(places))

/** Restarts each tool, and waits until its answer to `query` is right again. */
export async function printHeld(
  peers: readonly Peer[],
  footprints: ReadonlyMap<Peer, Footprint>,
  data: DataSet,
  query: Query,
): Promise<void> {
  const wanted = data.totals(query.objects, query.start_s, query.end_s)
  const rows: string[][] = []
  for (const peer of peers) {
    const restart_ms = await peer.restart(async (asked) => checkTotals(asked.name, await asked.ask(query), wanted))
    const { loadedBy, written_bytes, kept_bytes } = footprints.get(peer) ?? {
      loadedBy: '',
      written_bytes: 0,
      kept_bytes: 0,
    }
    const perSample = [written_bytes / data.samples, kept_bytes / data.samples]
    rows.push([peer.name, loadedBy, ...perSample.map((value) => digits(value, 2)), restart_ms.toFixed(0)])
  }
  table(
    `${whole(data.samples)} samples in each tool, loaded at once`,
    ['tool', 'loaded by', 'written, bytes per sample', 'kept, bytes per sample', 'restart to a right answer, ms'],
    rows,
  )
}

type Feed = readonly [name: string, run: (size: FeedSize) => Promise<FeedCost>]

function feeds({ rrdtool, rrdcached, prometheus, victoriaMetrics }: Programs): readonly Feed[] {
  const found: Feed[] = [['Fulcrum', feedArchive]]
  if (rrdtool !== undefined && rrdcached !== undefined) {
    found.push(['rrdcached -w 300 -z 300 -j', (size) => feedRrdcached(rrdtool, rrdcached, size)])
  }
  if (prometheus !== undefined) found.push(['Prometheus, remote write', (size) => feedPrometheus(prometheus, size)])
  if (victoriaMetrics !== undefined) {
    found.push(['VictoriaMetrics, remote write', (size) => feedVictoriaMetrics(victoriaMetrics, size)])
  }
  return found
}

/** Prints the cost of following; returns how many times more rrdcached writes per sample, for each size. */
export async function printFed(programs: Programs, end_s: number): Promise<readonly number[]> {
  const rows: string[][] = []
  const ratios: number[] = []
  for (const objects of FED_OBJECTS) {
    const fed = { objects, seconds: FED_SECONDS, end_s }
    const written = new Map<string, number>()
    for (const [name, run] of feeds(programs)) {
      const { written_bytes, memory_bytes } = await run(fed)
      written.set(name, written_bytes)
      const perSeries = memory_bytes / (objects * METRIC_NAMES.length)
      rows.push([whole(objects), name, digits(written_bytes / samplesOf(fed), 2), whole(perSeries)])
    }
    const [ours = Number.NaN, theirs = Number.NaN] = written.values()
    ratios.push(programs.rrdcached === undefined ? Number.NaN : theirs / ours)
  }
  table(
    `${FED_SECONDS} s of live samples, four metrics each`,
    ['objects', 'tool', 'written, bytes per sample', 'private memory, bytes per series'],
    rows,
  )
  console.log(
    '\nSimulated seconds, a flush each in Fulcrum, whose write calls are counted once its finest tier is full; rrdcached is flushed every 300 of them; what Prometheus and VictoriaMetrics do by real time (compaction, merges) happens less often than live.',
  )
  return ratios
}

/**
 * Compares the size of an archive with each second of a day of fifty objects with rrdtool's rings for the same buckets.
 */
export async function printKept(end_s: number): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  const writer = new ArchiveWriter(directory, end_s - KEPT_S)
  const objects = feedObjects(KEPT_OBJECTS)
  for (let second = end_s - KEPT_S; second < end_s; second += 1) {
    writer.ring.beginSecond(second)
    for (const object of objects) {
      const slot = writer.ensure('frontend', object.name, '')?.slot ?? -1
      for (const metric of METRIC_NAMES.keys()) writer.ring.set(slot, second, metric, valueAt(object, metric, second))
    }
    if ((second + 1) % SECONDS_PER_COMMIT === 0) writer.commit(second + 1, true, undefined)
  }
  await writer.close()
  const ours = diskBytes(directory)
  rmSync(directory, { recursive: true, force: true })
  const ringBytes = (most: number) =>
    TIERS.map(({ step_s, rows }) => Math.min(rows, most / step_s) * (step_s === 1 ? 1 : 3))
      .map((values) => values * METRIC_NAMES.length * BYTES_PER_DOUBLE * KEPT_OBJECTS)
      .reduce((sum, bytes) => sum + bytes, 0)
  const theirs = ringBytes(KEPT_S)
  table(
    `${KEPT_OBJECTS} objects after ${whole(KEPT_S)} seconds`,
    ['what', 'MB'],
    [
      ['Fulcrum, the whole archive', (ours / 1e6).toFixed(2)],
      ['rrdtool, rings for the same buckets', (theirs / 1e6).toFixed(2)],
      [
        'rrdtool, its files, which have their full size from the start',
        (ringBytes(Number.POSITIVE_INFINITY) / 1e6).toFixed(1),
      ],
    ],
  )
  return theirs / ours
}
