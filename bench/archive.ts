/**
 * Cost of the statistics: one tick (scan, increments, ring, transaction) at three sizes, bytes written per sample, and
 * the time of live and history answers. Synthetic CSV in the form of HAProxy 2.6: half of the objects idle, a few very
 * busy; one request per session.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createStatRows, scanStats } from '../src/drivers/haproxy/stats-csv.ts'
import { HistoryAnswers } from '../src/stats/history.ts'
import { LiveAnswers } from '../src/stats/live.ts'
import { CORE_METRICS } from '../src/model/metrics.ts'
import { ArchiveObjects } from '../src/stats/objects.ts'
import { ArchiveReader } from '../storage/archive/reader.ts'
import { METRIC_COUNT, tierAt } from '../storage/archive/tiers.ts'
import { ArchiveWriter } from '../storage/archive/writer.ts'
import { Collector } from '../workers/archive/collector.ts'
import { tickOf } from '../test/fixtures/live-tick.ts'
import { Farm, uuid } from './farm.ts'
import { processorTime_ms } from './measure.ts'
import { scaled } from './scale.ts'

const START_S = 1_760_000_000

/**
 * Returns the bytes passed to the kernel; `write_bytes` counts whole folios of the page cache even if only parts were
 * written.
 */
function writtenBytes(): number {
  return Number(/^wchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1] ?? 0)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
}

function timed(times: number[], work: () => void): void {
  const began = performance.now()
  work()
  times.push(performance.now() - began)
}

/** Ticks after which every tier writes and the crash tail is full. */
const WARM_TICKS = 320
/** Seconds of history for the answers. */
const SECONDS = scaled(7_400, 120)
const ANSWERS = scaled(400, 5)
const FARMS = scaled<readonly (readonly [objects: number, ticks: number])[]>(
  [
    [20_000, 120],
    [5_000, 240],
    [1_000, 240],
    [100, 240],
  ],
  [[20, 5]],
)

async function measureTicks(objects: number, ticks: number, directory: string): Promise<void> {
  const farm = new Farm(objects)
  const count = farm.rows.length
  const writer = new ArchiveWriter(directory, START_S)
  const collector = new Collector(writer)
  const scan: number[] = []
  const close: number[] = []
  const rows = createStatRows()
  let written = 0
  let processor_ms = 0
  for (let i = 0; i < WARM_TICKS + ticks; i++) {
    if (i === WARM_TICKS) {
      written = writtenBytes()
      scan.length = 0
      close.length = 0
      processor_ms = 0
    }
    const bytes = farm.csv()
    const time = { archive_s: START_S + i + 0.05, monotonic_s: i }
    const current = { pid: 1, uptime_s: 1_000 + i, bytes, from: 0 }
    timed(scan, () => scanStats(bytes, rows))
    const began_ms = processorTime_ms()
    timed(close, () => {
      collector.absorb({ ok: true, current, old: [], oldPids: [] }, time)
      collector.close(START_S + i, time)
    })
    processor_ms += processorTime_ms() - began_ms
  }
  const samples = count * METRIC_COUNT * ticks
  const stored_us = (processor_ms / ticks - median(scan)) * 1_000
  const cells = [
    count.toLocaleString('en'),
    median(scan).toFixed(2),
    median(close).toFixed(2),
    Math.max(...close).toFixed(0),
    stored_us.toFixed(0),
    (stored_us / count).toFixed(2),
    ((writtenBytes() - written) / samples).toFixed(2),
    secondsOnDisk(writer).toFixed(2),
    (await measureOpen(writer, directory)).toFixed(0),
  ]
  console.log(`| ${cells.join(' | ')} |`)
}

/** Returns the bytes of whole pages per sample of the finest tier. */
function secondsOnDisk(writer: ArchiveWriter): number {
  const [database] = writer.databases.tiers
  const { pageSize, treeLeafPageCount, treeBranchPageCount, entryCount } = {
    pageSize: 0,
    treeLeafPageCount: 0,
    treeBranchPageCount: 0,
    entryCount: 0,
    ...database?.getStats(),
  }
  const samples = entryCount * tierAt(0).points * METRIC_COUNT
  return ((treeLeafPageCount + treeBranchPageCount) * pageSize) / samples
}

/** Measures the time from a closed archive to one that answers and goes on counting. */
async function measureOpen(writer: ArchiveWriter, directory: string): Promise<number> {
  const { hwm_s } = writer
  await writer.close()
  const began = performance.now()
  const again = new ArchiveWriter(directory, hwm_s)
  void new Collector(again)
  const opened = performance.now() - began
  await again.close()
  return opened
}

async function measureAnswers(directory: string, objects: number): Promise<void> {
  const farm = new Farm(objects)
  const writer = new ArchiveWriter(directory, START_S)
  const collector = new Collector(writer)
  let csv = farm.csv()
  for (let i = 0; i < SECONDS; i++) {
    if (i % 60 === 0) csv = farm.csv()
    const time = { archive_s: START_S + i + 0.05, monotonic_s: i }
    collector.absorb(
      { ok: true, current: { pid: 1, uptime_s: 9_000 + i, bytes: csv, from: 0 }, old: [], oldPids: [] },
      time,
    )
    collector.close(START_S + i, time)
  }
  const live = new LiveAnswers(farm.names, 'bench')
  const liveTimes: number[] = []
  const tick = tickOf(csv)
  let size = 0
  for (let sequence = 1; sequence <= 500; sequence++) {
    live.update({ ...tick, sequence })
    timed(liveTimes, () => {
      size = live.render({ kind: 'all' })?.body.length ?? 0
    })
  }
  console.log('\n### Answers, computed\n\n| answer | ms | bytes |\n|---|---|---|')
  console.log(`| live, all ${farm.rows.length} objects | ${median(liveTimes).toFixed(3)} | ${size} |`)
  const reader = new ArchiveReader(directory, writer.ring.header, writer.ring.slabs)
  const known = new ArchiveObjects()
  const places = writer
    .objects()
    .map(({ id, kind, name, backend, slot }) => ({ objectId: id, kind, name, backend, slot }))
  known.reset([], places)
  const history = new HistoryAnswers(reader, known, farm.names, 'bench', 'bench', 'Layer 7 history')
  const hwm = writer.hwm_s
  for (const [label, span, resolution] of [
    ['60 s at 1 s', 60, 1],
    ['1 h at 1 s', 3_600, 1],
    ['2 h at 10 s', 7_190, 10],
  ] as const) {
    const times: number[] = []
    for (let i = 0; i < ANSWERS; i++) {
      history.forget()
      const query = {
        start: hwm - span,
        end: hwm,
        resolution,
        consolidation: 'average' as const,
        metrics: CORE_METRICS,
        format: 'json' as const,
      }
      timed(times, () => {
        size = history.frontend(uuid(0), query)?.body.length ?? 0
      })
    }
    console.log(`| history, ${label} | ${median(times).toFixed(3)} | ${size} |`)
  }
  await writer.close()
}

export async function run(): Promise<void> {
  console.log('### One second of statistics\n')
  console.log(
    '| objects | scan, ms | scan, store, commit, ms | worst, ms | store and commit, processor µs | the same per object | bytes written per sample | bytes on disk per 1 s sample | open again, ms |',
  )
  console.log('|---|---|---|---|---|---|---|---|---|')
  for (const [objects, ticks] of FARMS) {
    const directory = mkdtempSync(join(tmpdir(), 'bench-archive-'))
    await measureTicks(objects, ticks, directory)
    rmSync(directory, { recursive: true, force: true })
  }
  const directory = mkdtempSync(join(tmpdir(), 'bench-archive-'))
  await measureAnswers(directory, 75)
  rmSync(directory, { recursive: true, force: true })
}

if (import.meta.main) await run()
