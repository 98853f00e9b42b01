/**
 * An archive from the time of four metrics: 1,000 polls of a frontend, a backend and a server by the program of that
 * time. In the second that poll n ended, n sessions came, with 100 bytes in and 1,000 out each.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { checkArchive, checkArchiveDirectory } from '../../storage/archive/check.ts'
import { Points } from '../../storage/archive/consolidate.ts'
import { ArchiveReader } from '../../storage/archive/reader.ts'
import { METRIC_COUNT, tierAt } from '../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../storage/archive/writer.ts'
import { Collector } from '../../workers/archive/collector.ts'
import { temporaryFolder } from '../fixtures/folder.ts'

const FIXTURE = new URL('../fixtures/archives/four-metrics.mdb.gz', import.meta.url)
const START_S = 1_790_000_000
const OLD_S = 1_000
const PID = 7
const [REQUESTS, ERRORS, QUEUE, RESPONSE_TIME] = [4, 10, 11, 12]
/** Requests that HAProxy had counted before they were stored. */
const REQUESTS_BEFORE = 1_000_000
const HEADER = '# pxname,svname,qcur,scur,stot,bin,bout,econ,type,hrsp_2xx,req_tot,rtime,'

function oldArchive(test: Test): string {
  const directory = join(temporaryFolder(test), 'archive')
  mkdirSync(directory)
  writeFileSync(join(directory, 'data.mdb'), gunzipSync(readFileSync(FIXTURE)))
  return directory
}

/** The answer of poll `n`: sessions, and two requests for each of them since the fixture ended. */
function poll(collector: Collector, n: number): void {
  const sessions = (n * (n + 1)) / 2
  const counted = [sessions, sessions * 100, sessions * 1_000]
  const requests = REQUESTS_BEFORE + 2 * (sessions - (OLD_S * (OLD_S + 1)) / 2)
  const lines = [
    ['fe', 'FRONTEND', '', n % 7, ...counted, '', 0, requests, requests, ''],
    ['be', 's1', n % 5, n % 7, ...counted, n, 2, requests, requests, n % 900],
    ['be', 'BACKEND', n % 5, n % 7, ...counted, n, 1, requests, requests, n % 900],
  ]
  const bytes = new Uint8Array(Buffer.from(`${[HEADER, ...lines.map((line) => `${line.join()},`)].join('\n')}\n\n`))
  const time = { archive_s: START_S + n + 0.05, monotonic_s: n }
  const current = { pid: PID, uptime_s: 5_000 + n, bytes, from: 0 }
  collector.absorb({ ok: true, current, old: [], oldPids: [] }, time)
  collector.close(START_S + n, time)
}

/** Returns values per second of every metric of an object in [from, to), relative to the start. */
function seconds(directory: string, writer: ArchiveWriter, name: string, from: number, to: number): number[][] {
  const reader = new ArchiveReader(directory, writer.ring.header, writer.ring.slabs)
  const values = new Float64Array((to - from) * METRIC_COUNT)
  const object = writer.objects().find((one) => one.name === name)
  if (object === undefined) throw new Error(`${name} is not known`)
  reader.readBase(object, START_S + from, START_S + to, values)
  return Array.from({ length: METRIC_COUNT }, (_, metric) => [
    ...values.subarray(metric * (to - from), (metric + 1) * (to - from)),
  ])
}

const every = (from: number, to: number, value: (n: number) => number) =>
  Array.from({ length: to - from }, (_, i) => value(from + i + 1))

t.test('the four metrics answer as before, in every tier; the others are unknown', async (test) => {
  const directory = oldArchive(test)
  test.strictSame(await checkArchiveDirectory(directory), [])
  const writer = new ArchiveWriter(directory, START_S + OLD_S)
  for (const name of ['fe', 's1', 'be']) {
    const [sessions, rate, bytesIn, bytesOut, ...more] = seconds(directory, writer, name, 0, OLD_S)
    test.strictSame(
      sessions,
      every(0, OLD_S, (n) => n % 7),
      name,
    )
    test.strictSame(
      rate,
      every(0, OLD_S, (n) => n),
      name,
    )
    test.strictSame(
      bytesIn,
      every(0, OLD_S, (n) => n * 100),
      name,
    )
    test.strictSame(
      bytesOut,
      every(0, OLD_S, (n) => n * 1_000),
      name,
    )
    test.ok(more.flat().every(Number.isNaN), name)
  }
  const reader = new ArchiveReader(directory, writer.ring.header, writer.ring.slabs)
  const [object] = writer.objects()
  const points = new Points()
  for (const tier of [1, 2, 3]) {
    const { step_s } = tierAt(tier)
    const n = Math.floor(OLD_S / step_s) - 1
    const first = Math.ceil(START_S / step_s) * step_s
    reader.readCoarse(tier, object ?? { id: 0, slot: -1 }, first, first + n * step_s, points)
    const sums = every(0, n, (bucket) => {
      const before = first - START_S + (bucket - 1) * step_s
      return step_s * before + (step_s * (step_s + 1)) / 2
    })
    test.strictSame([...points.sum.subarray(n, 2 * n)], sums, `sessions of ${step_s} s`)
    test.ok(points.count.subarray(4 * n, METRIC_COUNT * n).every((count) => count === 0))
  }
  await writer.close()
})

t.test('it continues: nothing is counted twice, and counts from before the first poll are dropped', async (test) => {
  const directory = oldArchive(test)
  let writer = new ArchiveWriter(directory, START_S + OLD_S)
  let collector = new Collector(writer)
  for (let n = OLD_S + 1; n <= OLD_S + 200; n++) poll(collector, n)
  await writer.close()
  // And once more, with stored counters: they are continued like the others.
  writer = new ArchiveWriter(directory, START_S + OLD_S + 200)
  collector = new Collector(writer)
  for (let n = OLD_S + 201; n <= OLD_S + 400; n++) poll(collector, n)

  const [from, to] = [OLD_S - 100, OLD_S + 400]
  const later = (value: (n: number) => number) => (n: number) => (n > OLD_S + 1 ? value(n) : Number.NaN)
  for (const name of ['fe', 's1', 'be']) {
    const values = seconds(directory, writer, name, from, to)
    test.strictSame(
      values[1],
      every(from, to, (n) => n),
      `sessions of ${name}`,
    )
    test.strictSame(
      values[3],
      every(from, to, (n) => n * 1_000),
      `bytes of ${name}`,
    )
    test.strictSame(
      values[REQUESTS],
      every(
        from,
        to,
        later((n) => 2 * n),
      ),
      `requests of ${name}`,
    )
    const errors = name === 'fe' ? () => Number.NaN : later(() => 1)
    test.strictSame(values[ERRORS], every(from, to, errors), `errors of ${name}`)
    const sampled = (value: (n: number) => number) => (n: number) =>
      name !== 'fe' && n > OLD_S ? value(n) : Number.NaN
    test.strictSame(
      values[QUEUE],
      every(
        from,
        to,
        sampled((n) => n % 5),
      ),
      `queue of ${name}`,
    )
    test.strictSame(
      values[RESPONSE_TIME],
      every(
        from,
        to,
        sampled((n) => n % 900),
      ),
      `times of ${name}`,
    )
  }
  test.strictSame(checkArchive(writer.databases), [], 'chunks with and without them')
  await writer.close()
})
