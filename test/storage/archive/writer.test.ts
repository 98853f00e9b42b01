import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { checkArchive, checkArchiveDirectory } from '../../../storage/archive/check.ts'
import { Points } from '../../../storage/archive/consolidate.ts'
import { META_PROGRESS } from '../../../storage/archive/databases.ts'
import { coverageStart, floorTo, keyFirst } from '../../../storage/archive/layout.ts'
import { ArchiveReader } from '../../../storage/archive/reader.ts'
import { CORE_COUNT, METRIC_COUNT, TIERS, tierAt } from '../../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { CHUNKS_AT_ONCE, CHUNKS_EVERY_S, RING_ROWS } from '../../../storage/limits.ts'
import { ReferenceModel, seededRandom } from './reference-model.ts'

const START = 1_700_000_003
const NAMES = ['fe', 'be', 's1', 's2', 'late']

interface Simulation {
  readonly directory: string
  readonly model: ReferenceModel
  writer: ArchiveWriter
  now: number
  readonly random: () => number
}

function begin(t: Test, seed: number): Simulation {
  const directory = mkdtempSync(join(tmpdir(), 'archive-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const writer = new ArchiveWriter(directory, START)
  return { directory, model: new ReferenceModel(), writer, now: writer.hwm_s, random: seededRandom(seed) }
}

function ensure(writer: ArchiveWriter, name: string) {
  const kind = name === 'fe' ? 'frontend' : name === 'be' ? 'backend' : 'server'
  const object = writer.ensure(kind, name, kind === 'server' ? 'be' : '')
  if (object === undefined) throw new Error('refused')
  return object
}

/** One ordinary second, with some objects or metrics unknown now and then. */
function second(simulation: Simulation): void {
  const { writer, model, random } = simulation
  const at = simulation.now
  writer.ring.beginSecond(at)
  for (const name of NAMES) {
    if (name === 'late' && at < START + 500) continue
    if (random() < 0.02) continue
    const { slot } = ensure(writer, name)
    for (let metric = 0; metric < METRIC_COUNT; metric++) {
      if (metric > 0 && random() < 0.02) continue
      const value = Math.floor(
        random() < 0.5 ? 0 : random() < 0.9 ? random() * 100 : random() * (metric < CORE_COUNT ? 2e10 : 4e9),
      )
      writer.ring.set(slot, at, metric, value)
      model.set(name, metric, at, value)
    }
  }
  simulation.now++
  writer.commit(simulation.now, true, undefined)
}

function gap(simulation: Simulation, seconds: number): void {
  simulation.now += seconds
  simulation.writer.commit(simulation.now, false, undefined)
}

const NUMBERS = ['count', 'sum', 'minimum', 'maximum'] as const

function compareTier(t: Test, simulation: Simulation, reader: ArchiveReader, index: number, from: number): number {
  const { writer, model } = simulation
  const tier = writer.databases.table[index] ?? tierAt(index)
  const first = Math.max(floorTo(from, tier.step_s), coverageStart(tier, writer.ring.hwm()))
  const end = floorTo(writer.ring.hwm(), tier.step_s)
  const points = new Points()
  const n = end - first
  const values = new Float64Array(Math.max(0, n) * METRIC_COUNT)
  let compared = 0
  for (const object of writer.objects()) {
    if (index === 0) reader.readBase(object, first, end, values)
    else reader.readCoarse(index, object, first, end, points)
    for (let metric = 0; metric < METRIC_COUNT; metric++) {
      for (let start = first; start < end; start += tier.step_s) {
        const wanted = model.bucket(object.name, metric, start, tier.step_s)
        const i = (start - first) / tier.step_s
        const at = metric * points.n + i
        const value = values[metric * n + i] ?? Number.NaN
        const known = Number.isNaN(value) ? 0 : 1
        const got =
          index === 0
            ? { count: known, sum: known * (value || 0), minimum: value || 0, maximum: value || 0 }
            : { count: points.count[at], sum: points.sum[at], minimum: points.minimum[at], maximum: points.maximum[at] }
        compared++
        if (NUMBERS.some((name) => got[name] !== wanted[name])) {
          t.strictSame(got, wanted, `${tier.name} ${object.name} metric ${metric} bucket ${start - START}`)
          return compared
        }
      }
    }
  }
  return compared
}

function compareAll(t: Test, simulation: Simulation, from: number): void {
  const reader = new ArchiveReader(simulation.directory, simulation.writer.ring.header, simulation.writer.ring.slabs)
  for (const [index, tier] of TIERS.entries()) {
    t.ok(compareTier(t, simulation, reader, index, from) >= 0, `${tier.name} equals the model`)
  }
  t.strictSame(checkArchive(simulation.writer.databases), [])
}

t.test('every tier equals the naive model, at many moments, with gaps and restarts', async (t) => {
  const simulation = begin(t, 7)
  for (let i = 0; i < 2_600; i++) {
    second(simulation)
    if (i === 700) gap(simulation, 40)
    if (i === 1_100) gap(simulation, 400)
    if (i % 487 === 300) {
      // A restart at any second: only data on disk carry over.
      await simulation.writer.close()
      simulation.writer = new ArchiveWriter(simulation.directory, simulation.now)
      t.equal(simulation.writer.hwm_s, simulation.now)
    }
    if (i % 650 === 649) compareAll(t, simulation, START)
  }
  gap(simulation, 9_000)
  for (let i = 0; i < 30; i++) second(simulation)
  compareAll(t, simulation, START)
  await simulation.writer.close()
  t.strictSame(await checkArchiveDirectory(simulation.directory), [])
})

t.test("a disk that refuses for a while: served values stay, and the ring's data are stored afterwards", async (t) => {
  const simulation = begin(t, 9)
  for (let i = 0; i < 400; i++) second(simulation)
  simulation.writer.hold('the disk fails')
  const stuck = simulation.writer.hwm_s
  for (let i = 0; i < 200; i++) t.throws(() => second(simulation), /the disk fails/)
  t.strictSame(
    [simulation.writer.hwm_s, simulation.writer.ring.hwm()],
    [stuck, stuck + 200],
    'unstored seconds are served from memory',
  )
  const during = new ArchiveReader(simulation.directory, simulation.writer.ring.header, simulation.writer.ring.slabs)
  t.ok(compareTier(t, simulation, during, 0, START) > 0, 'also the unstored seconds')
  simulation.writer.hold(undefined)
  second(simulation)
  compareAll(t, simulation, START)
  // Longer than the ring: the oldest seconds are lost, and nothing else is.
  simulation.writer.hold('the disk fails')
  const before = simulation.writer.hwm_s
  for (let i = 0; i < 400; i++) t.throws(() => second(simulation))
  simulation.writer.hold(undefined)
  second(simulation)
  const kept = simulation.writer.ring.oldest()
  t.ok(kept <= before + 401 - 200, 'at least the last 200 seconds are kept')
  simulation.model.forget(before, kept)
  compareAll(t, simulation, START)
  t.strictSame(checkArchive(simulation.writer.databases), [])
  const reader = new ArchiveReader(simulation.directory, simulation.writer.ring.header, simulation.writer.ring.slabs)
  const [object] = simulation.writer.objects()
  const lost = new Float64Array(50 * METRIC_COUNT)
  reader.readBase(object ?? { id: 0, slot: -1 }, before + 5, before + 55, lost)
  t.ok(lost.every(Number.isNaN))
  await simulation.writer.close()
})

/** Makes LMDB refuse every transaction until the returned function is called. */
function refusingLmdb({ writer: { databases } }: Simulation): () => void {
  const { environment } = databases
  const works = environment.transactionSync.bind(environment)
  environment.transactionSync = () => {
    throw new Error('Input/output error')
  }
  return () => {
    environment.transactionSync = works
  }
}

/** Returns the number of seconds whose commit threw. */
function failedSeconds(simulation: Simulation, seconds: number): number {
  let failed = 0
  for (let i = 0; i < seconds; i++) {
    try {
      second(simulation)
    } catch {
      failed++
    }
  }
  return failed
}

/** Shorter than a chunk and longer, while the ring has all of it, and longer than the ring lasts. */
for (const refused_s of [100, 150, 180, 240, 500]) {
  for (const isKilled of [false, true]) {
    const then = isKilled ? ', and the daemon is killed' : ''
    t.test(`LMDB alone refuses for ${refused_s} s${then}: the crash tail has everything`, async (t) => {
      const simulation = begin(t, 15)
      // Chunks have just ended: of the next seconds, two of each object may be due at once.
      for (let i = 0; i < 740; i++) second(simulation)
      const letWork = refusingLmdb(simulation)
      const before = simulation.writer.hwm_s
      const failed = failedSeconds(simulation, refused_s)
      t.ok(failed >= refused_s - CHUNKS_EVERY_S && failed < refused_s, `reported ${failed} times`)
      t.equal(simulation.writer.hwm_s, before + refused_s, 'every second is on the disk')
      letWork()
      if (isKilled) {
        await simulation.writer.close()
        simulation.writer = new ArchiveWriter(simulation.directory, simulation.now)
        t.equal(simulation.writer.hwm_s, before + refused_s)
      }
      second(simulation)
      compareAll(t, simulation, START)
      for (let i = 0; i < RING_ROWS; i++) second(simulation)
      compareAll(t, simulation, START)
      await simulation.writer.close()
    })
  }
}

t.test('a disk accepts nothing for as long as the ring lasts: everything in the ring is stored', async (t) => {
  for (const held_s of [210, RING_ROWS - 1]) {
    const simulation = begin(t, 18)
    for (let i = 0; i < 400; i++) second(simulation)
    simulation.writer.hold('the disk fails')
    t.equal(failedSeconds(simulation, held_s), held_s)
    simulation.writer.hold(undefined)
    second(simulation)
    t.equal(simulation.writer.ring.losses, 0)
    compareAll(t, simulation, START)
    for (let i = 0; i < RING_ROWS; i++) second(simulation)
    compareAll(t, simulation, START)
    await simulation.writer.close()
  }
})

t.test('LMDB refuses while the clock is set ahead by years: one transaction skips them later', async (t) => {
  for (const isKilled of [false, true]) {
    const simulation = begin(t, 19)
    for (let i = 0; i < 400; i++) second(simulation)
    const letWork = refusingLmdb(simulation)
    t.throws(() => gap(simulation, 36 * 365 * 86_400), /Input/)
    letWork()
    if (isKilled) {
      await simulation.writer.close()
      simulation.writer = new ArchiveWriter(simulation.directory, simulation.now)
      t.equal(simulation.writer.hwm_s, simulation.now)
    }
    for (let i = 0; i < RING_ROWS; i++) second(simulation)
    t.strictSame(checkArchive(simulation.writer.databases), [])
    const right = START + 1_000
    simulation.writer.stepBack(right)
    simulation.now = right
    simulation.model.forgetFrom(right)
    second(simulation)
    compareAll(t, simulation, START)
    await simulation.writer.close()
  }
})

t.test(
  'LMDB refuses a step back in which the clock is corrected again: everything continues as without it',
  async (t) => {
    const simulation = begin(t, 21)
    for (let i = 0; i < 700; i++) second(simulation)
    const letWork = refusingLmdb(simulation)
    t.throws(() => simulation.writer.stepBack(simulation.now - 300), /Input/)
    compareAll(t, simulation, START)
    letWork()
    // The update of the chunks succeeds, their removal does not.
    const { environment } = simulation.writer.databases
    const works = environment.transactionSync.bind(environment)
    let left = 1
    environment.transactionSync = (work) => {
      if (left-- > 0) return works(work)
      throw new Error('Input/output error')
    }
    t.throws(() => simulation.writer.stepBack(simulation.now - 300), /Input/)
    environment.transactionSync = works
    compareAll(t, simulation, START)
    for (let i = 0; i < RING_ROWS; i++) second(simulation)
    compareAll(t, simulation, START)
    await simulation.writer.close()
  },
)

t.test('a step back that LMDB refuses, or that is killed before it, changes nothing', async (t) => {
  const simulation = begin(t, 4)
  for (let i = 0; i < 700; i++) second(simulation)
  const { environment } = simulation.writer.databases
  const works = environment.transactionSync.bind(environment)
  let left = 1
  // The first transaction updates the chunks.
  environment.transactionSync = (work) => {
    if (left-- > 0) return works(work)
    throw new Error('killed')
  }
  t.throws(() => simulation.writer.stepBack(simulation.now - 300), /killed/)
  t.ok(readdirSync(simulation.directory).filter((name) => name.startsWith('tail-')).length > 2, 'both tails exist')
  await simulation.writer.close()
  simulation.writer = new ArchiveWriter(simulation.directory, simulation.now)
  t.equal(simulation.writer.hwm_s, simulation.now)
  compareAll(t, simulation, START)
  t.ok(readdirSync(simulation.directory).filter((name) => name.startsWith('tail-')).length <= 2, 'one of them is gone')
  for (let i = 0; i < 200; i++) second(simulation)
  compareAll(t, simulation, START)
  await simulation.writer.close()
  t.strictSame(await checkArchiveDirectory(simulation.directory), [])
})

t.test('few objects: a transaction a minute; many: as often as before', async (t) => {
  const simulation = begin(t, 6)
  for (let i = 0; i < 200; i++) second(simulation)
  let transactions = 0
  const { environment } = simulation.writer.databases
  const works = environment.transactionSync.bind(environment)
  environment.transactionSync = (work) => {
    transactions++
    return works(work)
  }
  const [object] = simulation.writer.objects()
  const stored = () => keyFirst(simulation.writer.databases.meta.get(META_PROGRESS) ?? new Uint8Array(8))
  t.ok(simulation.writer.hwm_s - stored() < CHUNKS_EVERY_S)
  for (let i = 0; i < CHUNKS_EVERY_S; i++) second(simulation)
  t.ok(transactions <= 2, `${transactions} for ${CHUNKS_EVERY_S} seconds of ${object?.name} and others`)
  for (let n = 0; n < CHUNKS_AT_ONCE / 2; n++) simulation.writer.ensure('server', `many ${n}`, 'be')
  second(simulation)
  transactions = 0
  for (let i = 0; i < 10; i++) second(simulation)
  t.equal(transactions, 5, 'every other second')
  await simulation.writer.close()
})

t.test('the clock is set back by an hour: no second has two values, earlier data stay', async (t) => {
  const simulation = begin(t, 3)
  for (let i = 0; i < 1_500; i++) second(simulation)
  const back = simulation.now - 900
  simulation.writer.stepBack(back)
  t.equal(simulation.writer.hwm_s, back)
  t.strictSame(checkArchive(simulation.writer.databases), [])
  simulation.now = back
  simulation.model.forgetFrom(back)
  compareAll(t, simulation, START)
  await simulation.writer.close()
  simulation.writer = new ArchiveWriter(simulation.directory, simulation.now)
  compareAll(t, simulation, START)
  for (let i = 0; i < 700; i++) second(simulation)
  compareAll(t, simulation, START)
  await simulation.writer.close()
  simulation.writer = new ArchiveWriter(simulation.directory, simulation.now)
  compareAll(t, simulation, START)
  await simulation.writer.close()
})

t.test("the clock is set back beyond the finest tier's retention: later data are kept", async (t) => {
  const simulation = begin(t, 3)
  for (let i = 0; i < 300; i++) second(simulation)
  gap(simulation, 12 * 3_600)
  for (let i = 0; i < 100; i++) second(simulation)
  const back = simulation.now - 6 * 3_600
  simulation.writer.stepBack(back)
  simulation.now = back
  simulation.model.forgetFrom(back)
  for (let i = 0; i < 1_500; i++) second(simulation)
  const [base] = simulation.writer.databases.table
  t.ok((base?.floor_s ?? back) < START, 'data before the gap are there as well')
  t.equal(Array.from(simulation.writer.databases.tiers[0]?.getKeys() ?? []).length >= 12, true, 'its chunks are there')
  compareAll(t, simulation, START)
  t.strictSame(checkArchive(simulation.writer.databases), [])
  await simulation.writer.close()
})

/** Settings of a clock that is ahead by a year, by decades. */
const AHEAD_S = [365 * 86_400, 36 * 365 * 86_400]

t.test('a clock is set far ahead, and right again: no earlier data are lost', async (t) => {
  for (const ahead_s of AHEAD_S) {
    const simulation = begin(t, 17)
    for (let i = 0; i < 500; i++) second(simulation)
    // Removed long before the clock is changed.
    const gone = ensure(simulation.writer, 'gone')
    simulation.writer.ring.beginSecond(simulation.now)
    simulation.writer.ring.set(gone.slot, simulation.now, 0, 7)
    simulation.model.set('gone', 0, simulation.now, 7)
    simulation.writer.commit(++simulation.now, true, undefined)
    for (let i = 0; i < 700; i++) second(simulation)
    for (const seconds of [5, 700]) {
      gap(simulation, ahead_s)
      for (let i = 0; i < seconds; i++) second(simulation)
      if (seconds > 5) {
        await simulation.writer.close()
        simulation.writer = new ArchiveWriter(simulation.directory, simulation.now)
        for (let i = 0; i < 300; i++) second(simulation)
        t.strictSame(checkArchive(simulation.writer.databases), [], 'while the clock is ahead')
      }
      simulation.now -= ahead_s
      simulation.writer.stepBack(simulation.now)
      simulation.model.forgetFrom(simulation.now)
      t.ok(
        simulation.writer.databases.table.every(({ floor_s }) => floor_s < START),
        `ahead by ${ahead_s} s for ${seconds} s`,
      )
      compareAll(t, simulation, START)
      for (let i = 0; i < 200; i++) second(simulation)
      compareAll(t, simulation, START)
      t.ok(
        simulation.writer.objects().some(({ name }) => name === 'gone'),
        'also of earlier removed objects',
      )
    }
    await simulation.writer.close()
    t.strictSame(await checkArchiveDirectory(simulation.directory), [])
  }
})

t.test('unrecorded time does not age data, but no tier keeps more than its rows', async (t) => {
  const simulation = begin(t, 19)
  for (let i = 0; i < 300; i++) second(simulation)
  const chunks = () => Array.from(simulation.writer.databases.tiers[0]?.getKeys() ?? [], keyFirst)
  for (let times = 0; times < 3; times++) {
    gap(simulation, 30 * 86_400)
    for (let i = 0; i < 3_000; i++) second(simulation)
    if (times === 1) t.ok((chunks()[0] ?? 0) < START + 300, 'two months later: 6300 recorded seconds')
  }
  t.ok(chunks().length <= NAMES.length * (7_200 / 120 + 4), `${chunks().length} chunks`)
  t.ok((chunks()[0] ?? 0) > START + 300, 'the first ones were deleted when there were newer ones for all rows')
  t.strictSame(checkArchive(simulation.writer.databases), [])
  await simulation.writer.close()
})

t.test(
  'a full disk is relieved: the finest tier drops its older half and reports it, the coarser ones keep it',
  async (t) => {
    const simulation = begin(t, 13)
    const { writer } = simulation
    gap(simulation, 30)
    for (let i = 0; i < 7_300; i++) second(simulation)
    const reader = new ArchiveReader(simulation.directory, writer.ring.header, writer.ring.slabs)
    const [before] = reader.tiers()
    t.equal(before?.floor_s, 0)
    let rounds = 0
    while (writer.relieve()) rounds++
    t.ok(rounds > 1, 'a few chunks at a time')
    const [base] = reader.tiers()
    t.equal(coverageStart(base ?? tierAt(0), writer.hwm_s), writer.hwm_s - 3_600)
    const oldest = Array.from(writer.databases.tiers[0]?.getKeys({ limit: 1 }) ?? [], keyFirst)[0] ?? 0
    t.ok(oldest > writer.hwm_s - 3_600 && oldest <= writer.hwm_s - 3_400)
    compareAll(t, simulation, START)
    await writer.close()
    simulation.writer = new ArchiveWriter(simulation.directory, simulation.now)
    t.equal(simulation.writer.databases.table[0]?.floor_s, base?.floor_s, 'a restart knows it too')
    for (let i = 0; i < 20; i++) second(simulation)
    compareAll(t, simulation, START)
    await simulation.writer.close()
  },
)
