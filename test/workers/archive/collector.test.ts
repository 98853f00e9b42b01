import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { checkArchive } from '../../../storage/archive/check.ts'
import { ArchiveReader } from '../../../storage/archive/reader.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { Collector } from '../../../workers/archive/collector.ts'
import type { ProcessStats } from '../../../workers/archive/process-answer.ts'

const T = 1_700_000_000
const HEADER = '# pxname,svname,scur,stot,bin,bout,type,'

interface Row {
  readonly name: string
  readonly sessions: number
  readonly current?: number
}

/** An answer of HAProxy with these frontends; bytes in are ten, bytes out a hundred per session. */
function answer(pid: number, uptime_s: number, rows: readonly Row[]): ProcessStats {
  const lines = rows.map(
    ({ name, sessions, current = 1 }) =>
      `${name},FRONTEND,${current},${sessions},${sessions * 10},${sessions * 100},0,`,
  )
  return { pid, uptime_s, bytes: new Uint8Array(Buffer.from(`${[HEADER, ...lines].join('\n')}\n\n`)), from: 0 }
}

class Bench {
  readonly directory: string
  writer: ArchiveWriter
  collector: Collector
  #monotonic_s = 0

  constructor(t: Test) {
    const directory = mkdtempSync(join(tmpdir(), 'collector-'))
    t.teardown(async () => {
      await this.writer.close()
      rmSync(directory, { recursive: true, force: true })
    })
    this.directory = directory
    this.writer = new ArchiveWriter(directory, T)
    this.collector = new Collector(this.writer)
  }

  async restart(tick_s: number): Promise<void> {
    await this.writer.close()
    this.writer = new ArchiveWriter(this.directory, tick_s)
    this.collector = new Collector(this.writer)
  }

  time(tick_s: number) {
    this.#monotonic_s = tick_s - T
    return { archive_s: tick_s + 0.05, monotonic_s: this.#monotonic_s }
  }

  poll(tick_s: number, current: ProcessStats, old: readonly ProcessStats[] = []): void {
    const oldPids = old.map(({ pid }) => pid)
    this.collector.absorb({ ok: true, current, old, oldPids }, this.time(tick_s))
    this.collector.close(tick_s, this.time(tick_s))
  }

  /** Sessions per second of one frontend in [from, to). */
  sessions(name: string, from_s: number, to_s: number, metric = 1): (number | null)[] {
    const object = this.writer.objects().find((candidate) => candidate.name === name)
    const n = to_s - from_s
    const values = new Float64Array(n * 4)
    const reader = new ArchiveReader(this.directory, this.writer.ring.header, this.writer.ring.slabs)
    if (object === undefined) return Array.from({ length: n }, () => null)
    reader.readBase(object, from_s, to_s, values)
    return Array.from(values.subarray(metric * n, metric * n + n), (value) => (Number.isNaN(value) ? null : value))
  }
}

t.test('rule 1: same process, the increment is the difference', async (t) => {
  const bench = new Bench(t)
  for (let i = 0; i < 4; i++)
    bench.poll(T + i, answer(10, 500 + i, [{ name: 'fe', sessions: 100 + i * i, current: i }]))
  t.strictSame(
    bench.sessions('fe', T - 1, T + 3),
    [null, 1, 3, 5],
    'the first poll of a long-lived process is only a baseline',
  )
  t.strictSame(bench.sessions('fe', T - 1, T + 3, 0), [0, 1, 2, 3], 'the gauge is known at once')
  t.strictSame(checkArchive(bench.writer.databases), [])
})

t.test('rule 2: a new process counts from its start', async (t) => {
  const bench = new Bench(t)
  bench.poll(T, answer(10, 500, [{ name: 'fe', sessions: 100 }]))
  bench.poll(T + 1, answer(10, 501, [{ name: 'fe', sessions: 110 }]))
  bench.poll(T + 2, answer(11, 0, [{ name: 'fe', sessions: 7 }]))
  bench.poll(T + 3, answer(11, 1, [{ name: 'fe', sessions: 9 }]))
  t.strictSame(bench.sessions('fe', T, T + 3), [10, 7, 2])
})

t.test('rule 2: a process that began seconds before the first poll counts in full', async (t) => {
  const bench = new Bench(t)
  bench.poll(T, answer(10, 1, [{ name: 'fe', sessions: 8 }]))
  t.strictSame(bench.sessions('fe', T - 3, T), [null, 4, 4])
})

t.test('rule 2: the same process number with a later start is another process', async (t) => {
  const bench = new Bench(t)
  bench.poll(T, answer(1, 500, [{ name: 'fe', sessions: 100 }]))
  bench.poll(T + 4, answer(1, 1, [{ name: 'fe', sessions: 200 }]))
  t.strictSame(bench.sessions('fe', T, T + 4), [null, null, 100, 100])
})

t.test('rule 2: a process polled between two seconds counts once, however long ago the last second was', async (t) => {
  const bench = new Bench(t)
  bench.poll(T, answer(10, 500, [{ name: 'fe', sessions: 100 }]))
  const current = answer(11, 1, [{ name: 'fe', sessions: 7 }])
  bench.collector.absorb({ ok: true, current, old: [], oldPids: [] }, bench.time(T + 3))
  bench.poll(T + 4, answer(11, 2, [{ name: 'fe', sessions: 9 }]))
  const counted = bench.sessions('fe', T, T + 4).reduce<number>((sum, value) => sum + (value ?? 0), 0)
  t.equal(counted, 9)
})

t.test('another HAProxy at the same address, and back: its past is in no increment', async (t) => {
  const bench = new Bench(t)
  bench.poll(T, answer(10, 500, [{ name: 'fe', sessions: 100 }]))
  bench.poll(T + 1, answer(10, 501, [{ name: 'fe', sessions: 110 }]))
  bench.poll(T + 2, answer(11, 900, [{ name: 'fe', sessions: 5_000 }]))
  bench.poll(T + 3, answer(11, 901, [{ name: 'fe', sessions: 5_003 }]))
  bench.poll(T + 4, answer(10, 504, [{ name: 'fe', sessions: 150 }]))
  bench.poll(T + 5, answer(10, 70, [{ name: 'fe', sessions: 9_000 }]))
  bench.poll(T + 6, answer(10, 71, [{ name: 'fe', sessions: 9_002 }]))
  t.strictSame(bench.sessions('fe', T, T + 6), [10, null, 3, null, null, 2], 'the last one has the id of the first')
})

for (const held of [70, 250, 400]) {
  t.test(`the disk refuses for ${held} s, and a restart follows at once: nothing is booked twice`, async (t) => {
    const bench = new Bench(t)
    const rows = (second: number) => [{ name: 'fe', sessions: 100 * (second - T + 1_000) }]
    const from = T + 130
    for (let second = T; second < from; second++) bench.poll(second, answer(10, 500 + second - T, rows(second)))
    bench.writer.hold('the disk is full')
    for (let second = from; second < from + held; second++) {
      t.throws(() => bench.poll(second, answer(10, 500 + second - T, rows(second))), /the disk is full/)
    }
    bench.writer.hold(undefined)
    const end = from + held
    bench.poll(end, answer(10, 500 + end - T, rows(end)))
    await bench.restart(end)
    for (let second = end + 2; second < end + 6; second++)
      bench.poll(second, answer(10, 500 + second - T, rows(second)))
    t.strictSame(bench.sessions('fe', end - 50, end + 5), Array(55).fill(100))
  })
}

t.test('restarted totals have another layout: of another process, and of one whose counters were cleared', (t) => {
  const bench = new Bench(t)
  const layoutOf = (tick: number, pid: number, sessions: number) => {
    const current = answer(pid, tick + 90, [{ name: 'web', sessions }])
    const time = bench.time(T + tick)
    const absorbed = bench.collector.absorb({ ok: true, current, old: [], oldPids: [] }, time)
    bench.collector.close(T + tick, time)
    return absorbed?.layout
  }
  const layouts = [50, 60, 3, 9].map((sessions, tick) => layoutOf(tick + 1, 7, sessions))
  t.equal(new Set(layouts).size, 2)
  t.equal(layouts[0], layouts[1])
  t.equal(layouts[2], layouts[3])
  t.notOk(layouts.includes(layoutOf(5, 8, 10)))
  t.end()
})

t.test('rule 3: cleared counters are unknown once, then a new baseline', async (t) => {
  const bench = new Bench(t)
  bench.poll(T, answer(10, 500, [{ name: 'fe', sessions: 100 }]))
  bench.poll(T + 1, answer(10, 501, [{ name: 'fe', sessions: 3 }]))
  bench.poll(T + 2, answer(10, 502, [{ name: 'fe', sessions: 5 }]))
  t.strictSame(bench.sessions('fe', T, T + 2), [null, 2])
})

t.test('a counter beyond 2^53 is unknown once, and exact from then on', async (t) => {
  const bench = new Bench(t)
  const bytesIn = (value: bigint) => ({
    ...answer(10, 500, []),
    bytes: new Uint8Array(Buffer.from(`${HEADER}\nfe,FRONTEND,1,1,${value},0,0,\n\n`)),
  })
  for (const [second, value] of [-300n, -100n, 50n, 51n, 1_000_000_000_000n].entries())
    bench.poll(T + second, bytesIn(2n ** 53n + value))
  t.strictSame(bench.sessions('fe', T, T + 4, 2), [200, null, 1, 999_999_999_949])
})

t.test('rule 4: old workers that still drain are added', async (t) => {
  const bench = new Bench(t)
  bench.poll(T, answer(10, 500, [{ name: 'fe', sessions: 100, current: 2 }]))
  bench.poll(T + 1, answer(11, 0, [{ name: 'fe', sessions: 5, current: 3 }]), [
    answer(10, 501, [{ name: 'fe', sessions: 104, current: 2 }]),
  ])
  bench.poll(T + 2, answer(11, 1, [{ name: 'fe', sessions: 6, current: 3 }]), [
    answer(10, 502, [{ name: 'fe', sessions: 105, current: 1 }]),
  ])
  bench.poll(T + 3, answer(11, 2, [{ name: 'fe', sessions: 8, current: 3 }]))
  t.strictSame(bench.sessions('fe', T, T + 3), [9, 2, 2])
  t.strictSame(bench.sessions('fe', T, T + 3, 0), [5, 4, 3])
})

t.test('rule 4: an old worker first seen by this run is no spike', async (t) => {
  const bench = new Bench(t)
  bench.poll(T, answer(11, 500, [{ name: 'fe', sessions: 5 }]), [
    answer(10, 900, [{ name: 'fe', sessions: 1_000_000 }]),
  ])
  bench.poll(T + 1, answer(11, 501, [{ name: 'fe', sessions: 6 }]), [
    answer(10, 901, [{ name: 'fe', sessions: 1_000_002 }]),
  ])
  t.strictSame(bench.sessions('fe', T, T + 1), [3])
})

t.test('an object that appears in a known process counts from zero, a removed one is unknown', async (t) => {
  const bench = new Bench(t)
  bench.poll(T, answer(10, 500, [{ name: 'a', sessions: 100 }]))
  bench.poll(
    T + 1,
    answer(10, 501, [
      { name: 'a', sessions: 101 },
      { name: 'b', sessions: 4 },
    ]),
  )
  bench.poll(T + 2, answer(10, 502, [{ name: 'b', sessions: 6 }]))
  t.strictSame(bench.sessions('b', T - 1, T + 2), [null, 4, 2])
  t.strictSame(bench.sessions('a', T, T + 2), [1, null])
})

t.test('late polls are spread exactly, up to the heartbeat; the gauge only where it was sampled', async (t) => {
  const bench = new Bench(t)
  bench.poll(T, answer(10, 500, [{ name: 'fe', sessions: 0, current: 4 }]))
  bench.collector.miss(T + 1, bench.time(T + 1))
  bench.collector.miss(T + 2, bench.time(T + 2))
  t.equal(bench.writer.hwm_s, T, 'the seconds stay open as long as a poll may still add to them')
  bench.poll(T + 3, answer(10, 503, [{ name: 'fe', sessions: 11, current: 4 }]))
  t.strictSame(bench.sessions('fe', T, T + 3), [3, 4, 4])
  t.strictSame(bench.sessions('fe', T, T + 3, 0), [null, null, 4])
})

t.test('longer than the heartbeat is unknown, and the next second is exact again', async (t) => {
  const bench = new Bench(t)
  bench.poll(T, answer(10, 500, [{ name: 'fe', sessions: 0 }]))
  for (let i = 1; i < 9; i++) bench.collector.miss(T + i, bench.time(T + i))
  t.equal(bench.writer.hwm_s, T + 8, 'unknown seconds are closed')
  bench.poll(T + 9, answer(10, 509, [{ name: 'fe', sessions: 50 }]))
  bench.poll(T + 10, answer(10, 510, [{ name: 'fe', sessions: 52 }]))
  t.strictSame(bench.sessions('fe', T, T + 10), [null, null, null, null, null, null, null, null, null, 2])
})

t.test('a capture between two seconds belongs to its second, across a change of process', async (t) => {
  const bench = new Bench(t)
  bench.poll(T, answer(10, 500, [{ name: 'fe', sessions: 100 }]))
  bench.collector.absorb(
    { ok: true, current: answer(10, 500, [{ name: 'fe', sessions: 120 }]), old: [], oldPids: [] },
    bench.time(T),
  )
  bench.poll(T + 1, answer(11, 0, [{ name: 'fe', sessions: 5 }]))
  t.strictSame(bench.sessions('fe', T, T + 1), [25])
})

t.test('a restart of the daemon continues the counters, whatever happened in the last minute', async (t) => {
  const bench = new Bench(t)
  let sessions = 0
  let total = 0
  const from = T
  bench.poll(T, answer(10, 500, [{ name: 'fe', sessions }]))
  for (let tick = T + 1; tick < T + 150; tick++) {
    const grown = tick % 7
    total += grown
    // Counters are cleared once, old workers add once: the stored copy must follow.
    sessions = tick === T + 70 ? 2 : sessions + grown
    const old = tick === T + 90 ? [answer(9, 1, [{ name: 'fe', sessions: 40 }])] : []
    if (tick === T + 70) total -= grown
    if (tick % 13 === 0) {
      await bench.restart(tick)
      t.equal(bench.writer.hwm_s, tick - 1)
    }
    bench.poll(tick, answer(10, 500 + tick - T, [{ name: 'fe', sessions }]), old)
  }
  const known = bench.sessions('fe', from, T + 149)
  t.equal(
    known.reduce<number>((sum, value) => sum + (value ?? 0), 0),
    total,
  )
  t.equal(known.filter((value) => value === null).length, 1, 'the second of the cleared counters')
  t.strictSame(checkArchive(bench.writer.databases), [])
})

t.test('a torn answer is discarded whole', async (t) => {
  const bench = new Bench(t)
  bench.poll(
    T,
    answer(10, 500, [
      { name: 'a', sessions: 1 },
      { name: 'b', sessions: 1 },
    ]),
  )
  const whole = answer(10, 501, [
    { name: 'a', sessions: 2 },
    { name: 'b', sessions: 2 },
  ])
  for (let length = 0; length < whole.bytes.length; length++) {
    const torn = { ...whole, bytes: whole.bytes.slice(0, length) }
    t.equal(bench.collector.absorb({ ok: true, current: torn, old: [], oldPids: [] }, bench.time(T + 1)), undefined)
  }
  bench.poll(T + 1, whole)
  t.strictSame(bench.sessions('b', T, T + 1), [1])
})

t.test('rule 6: counters that a new process took over are not counted again', async (t) => {
  const bench = new Bench(t)
  const intake = { accepted: 12, mayShare: false }
  bench.poll(T, answer(10, 500, [{ name: 'fe', sessions: 100 }]))
  bench.poll(T + 1, answer(10, 501, [{ name: 'fe', sessions: 110 }]))
  // Dumped at 112, and the old worker ended with 115; the new one counted 5.
  bench.poll(T + 2, { ...answer(11, 0, [{ name: 'fe', sessions: 117 }]), intake }, [
    answer(10, 502, [{ name: 'fe', sessions: 115 }]),
  ])
  bench.poll(T + 3, answer(11, 1, [{ name: 'fe', sessions: 120 }]))
  t.strictSame(bench.sessions('fe', T, T + 3), [10, 5 + 2, 3], 'never more than the real 5 + 5')
  // The next one is a plain restart of a version that could take over, and did not.
  bench.poll(T + 4, { ...answer(12, 0, [{ name: 'fe', sessions: 12 }]), intake })
  bench.poll(T + 5, answer(12, 1, [{ name: 'fe', sessions: 13 }]))
  t.strictSame(bench.sessions('fe', T + 3, T + 5), [12, 1])
  t.strictSame(checkArchive(bench.writer.databases), [])
})

t.test('rule 6: counters that processes share are counted once', async (t) => {
  const bench = new Bench(t)
  const intake = { accepted: 12, mayShare: true }
  bench.poll(T, answer(10, 500, [{ name: 'fe', sessions: 100 }]))
  bench.poll(T + 1, answer(10, 501, [{ name: 'fe', sessions: 110 }]))
  bench.poll(T + 2, { ...answer(11, 0, [{ name: 'fe', sessions: 117, current: 2 }]), intake }, [
    answer(10, 502, [{ name: 'fe', sessions: 118, current: 3 }]),
  ])
  bench.poll(T + 3, answer(11, 1, [{ name: 'fe', sessions: 120 }]), [answer(10, 503, [{ name: 'fe', sessions: 120 }])])
  t.strictSame(bench.sessions('fe', T, T + 3), [10, 7, 3])
  t.strictSame(bench.sessions('fe', T + 1, T + 2, 0), [5], 'current sessions belong to each process')
})

t.test('a worker that started and was replaced between two polls is counted in full', async (t) => {
  const bench = new Bench(t)
  bench.poll(T, answer(10, 500, [{ name: 'fe', sessions: 100 }]))
  bench.poll(T + 1, answer(10, 501, [{ name: 'fe', sessions: 100 }]))
  bench.poll(T + 2, answer(12, 0, [{ name: 'fe', sessions: 4 }]), [
    answer(11, 1, [{ name: 'fe', sessions: 30 }]),
    answer(10, 502, [{ name: 'fe', sessions: 101 }]),
  ])
  t.strictSame(bench.sessions('fe', T + 1, T + 2), [35])
})

t.test('one between two polls counts from zero, unless it is too old or has loaded counters', async (t) => {
  const rows = (sessions: number): readonly Row[] => [{ name: 'fe', sessions }]
  const between = (uptime_s: number, more: Partial<ProcessStats> = {}) => {
    const bench = new Bench(t)
    bench.poll(T, answer(10, 500, rows(100)))
    const replaced = [answer(10, 501, rows(110)), { ...answer(11, uptime_s, rows(30)), isSporadic: true, ...more }]
    bench.poll(T + 1, answer(12, 0, rows(5)), replaced)
    return bench
  }
  t.strictSame(between(1).sessions('fe', T, T + 1), [45], '10 of the old one, 30 of the one between, 5 of the new one')
  t.strictSame(between(1).sessions('fe', T, T + 1, 0), [2], 'its counters are not read at every poll')
  t.strictSame(between(90).sessions('fe', T, T + 1), [15], 'it existed before')
  const loaded = { intake: { accepted: 3, mayShare: false } }
  t.strictSame(between(1, loaded).sessions('fe', T, T + 1), [15], 'it began with the counts of others')
})

t.test('an old worker that says nothing keeps its sessions until it has ended', async (t) => {
  const bench = new Bench(t)
  const row = (sessions: number, current: number) => [{ name: 'fe', sessions, current }]
  bench.poll(T, answer(10, 500, row(100, 4)))
  const poll = (second: number, old: readonly ProcessStats[], more: object) => {
    const current = answer(11, second - T - 1, row(0, 1))
    bench.collector.absorb({ ok: true, current, old, oldPids: [10], ...more }, bench.time(second))
    bench.collector.close(second, bench.time(second))
  }
  poll(T + 1, [], {})
  poll(T + 2, [answer(10, 502, row(100, 3))], {})
  poll(T + 3, [], {})
  poll(T + 4, [], { ended: [10] })
  poll(T + 5, [], { oldPids: [] })
  t.strictSame(bench.sessions('fe', T - 1, T + 5, 0), [4, 5, 4, 4, 1, 1])
})
