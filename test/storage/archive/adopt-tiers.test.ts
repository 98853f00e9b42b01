import t, { type Test } from 'tap'
import { checkArchive } from '../../../storage/archive/check.ts'
import { Points } from '../../../storage/archive/consolidate.ts'
import { coverageStart, floorTo } from '../../../storage/archive/layout.ts'
import { ArchiveReader } from '../../../storage/archive/reader.ts'
import { METRIC_COUNT, type Tier, TIERS } from '../../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { ReferenceModel, seededRandom } from './reference-model.ts'

const START = 1_700_000_003
const OBJECTS = ['a', 'b', 'c']

/** Small tiers, so that a few simulated hours fill and trim all of them. */
const SMALL: readonly Tier[] = [
  { name: 'fine', step_s: 1, rows: 1_200, points: 120 },
  { name: 'ten', step_s: 10, rows: 360, points: 30 },
  { name: 'minute', step_s: 60, rows: 240, points: 30 },
]

class Archive {
  readonly directory: string
  readonly model = new ReferenceModel()
  writer: ArchiveWriter
  readonly #random = seededRandom(21)

  constructor(t: Test) {
    this.directory = temporaryFolder(t)
    this.writer = new ArchiveWriter(this.directory, START, SMALL)
  }

  run(seconds: number): void {
    for (let i = 0; i < seconds; i++) {
      const second = this.writer.hwm_s
      this.writer.ring.beginSecond(second)
      for (const name of OBJECTS) {
        const object = this.writer.ensure('server', name, 'be')
        if (object === undefined || this.#random() < 0.05) continue
        for (let metric = 0; metric < METRIC_COUNT; metric++) {
          const value = Math.floor(this.#random() * 1_000)
          this.writer.ring.set(object.slot, second, metric, value)
          this.model.set(name, metric, second, value)
        }
      }
      this.writer.commit(second + 1, true, undefined)
    }
  }

  async reopen(tiers: readonly Tier[]): Promise<void> {
    await this.writer.close()
    this.writer = new ArchiveWriter(this.directory, this.writer.hwm_s, tiers)
  }

  /**
   * Checks that every bucket in the retention of the tiers matches the model, and that the archive is whole. Returns
   * the start of each tier.
   */
  async verify(t: Test): Promise<readonly number[]> {
    const { writer } = this
    const reader = new ArchiveReader(this.directory, writer.ring.header, writer.ring.slabs)
    t.strictSame(checkArchive(writer.databases), [])
    const since = reader.tiers().map((tier, index) => {
      const from = Math.max(coverageStart(tier, writer.hwm_s), floorTo(START, tier.step_s))
      let wrong = 0
      for (const object of writer.objects()) wrong += this.#wrong(reader, index, tier, object, from)
      t.equal(wrong, 0, `${tier.name} of ${tier.step_s} s equals the model since ${from - START}`)
      return from
    })
    // A reader that outlives a change of the tiers would keep handles of deleted databases.
    await reader.close()
    return since
  }

  #wrong(
    reader: ArchiveReader,
    index: number,
    tier: Tier,
    object: { id: number; slot: number; name: string },
    from: number,
  ) {
    const end = floorTo(this.writer.hwm_s, tier.step_s)
    const n = (end - from) / tier.step_s
    const values = new Float64Array(n * METRIC_COUNT)
    const points = new Points()
    if (index === 0) reader.readBase(object, from, end, values)
    else reader.readCoarse(index, object, from, end, points)
    let wrong = 0
    for (let at = 0; at < n * METRIC_COUNT; at++) {
      const wanted = this.model.bucket(object.name, Math.floor(at / n), from + (at % n) * tier.step_s, tier.step_s)
      const sum = index === 0 ? (values[at] ?? 0) || 0 : points.sum[at]
      const maximum = index === 0 ? sum : points.maximum[at]
      if (sum !== wanted.sum || maximum !== wanted.maximum) wrong++
    }
    return wrong
  }
}

function changed(index: number, change: Partial<Tier>): readonly Tier[] {
  return SMALL.map((tier, at) => (at === index ? { ...tier, ...change } : tier))
}

t.test('a shorter retention cuts the head, a longer one only claims existing data', async (t) => {
  const archive = new Archive(t)
  archive.run(5_000)
  const [, before = 0] = await archive.verify(t)
  await archive.reopen(changed(1, { rows: 180 }))
  archive.run(400)
  const [, shorter = 0] = await archive.verify(t)
  t.ok(shorter >= before + 1_800)
  await archive.reopen(changed(1, { rows: 720 }))
  const [, longer = 0] = await archive.verify(t)
  t.equal(longer, shorter, 'dropped data do not come back')
  archive.run(3_000)
  const [, later = 0] = await archive.verify(t)
  t.equal(later, shorter, 'and are kept for longer from then on')
})

t.test('other buckets, other chunks, one tier more, one less: computed from the existing data', async (t) => {
  const archive = new Archive(t)
  archive.run(4_000)
  const [, ten = 0, minute = 0] = await archive.verify(t)
  const coarser = changed(1, { name: 'twenty', step_s: 20 })
  await archive.reopen(coarser)
  const [, twenty = 0] = await archive.verify(t)
  t.ok(twenty <= ten + 20, 'from the tier of ten seconds, as far back as that went')
  archive.run(700)
  await archive.verify(t)
  const shorter = coarser.map((tier, at) => (at === 0 ? { ...tier, points: 60 } : tier))
  await archive.reopen(shorter)
  await archive.verify(t)
  archive.run(300)
  const quarter: Tier = { name: 'quarter', step_s: 900, rows: 100, points: 24 }
  await archive.reopen([...shorter, quarter])
  const [, , , quarters = 0] = await archive.verify(t)
  t.ok(quarters <= minute + 900)
  archive.run(700)
  await archive.verify(t)
  await archive.reopen(shorter.slice(0, 2))
  await archive.verify(t)
  archive.run(200)
  await archive.verify(t)
  await archive.writer.close()
})

t.test('a start that is killed midway leaves the old tiers; the next one finishes', async (t) => {
  const archive = new Archive(t)
  archive.run(4_000)
  const wanted = changed(2, { name: 'two-minutes', step_s: 120 })
  await archive.writer.close()
  const { hwm_s } = archive.writer
  // A database with the name of the next generation, with data of an earlier attempt.
  const half = new ArchiveWriter(archive.directory, hwm_s, SMALL)
  const rest = half.databases.environment.openDB<Uint8Array, Uint8Array>({
    name: 'two-minutes',
    keyEncoding: 'binary',
    encoding: 'binary',
  })
  rest.putSync(new Uint8Array(8).fill(255), new Uint8Array(3))
  t.strictSame(checkArchive(half.databases), [])
  await half.close()
  archive.writer = new ArchiveWriter(archive.directory, hwm_s, wanted)
  await archive.verify(t)
  await archive.writer.close()
})

t.test('the first tier has steps of one second, and there are at most eight', async (t) => {
  const archive = new Archive(t)
  archive.run(10)
  await archive.writer.close()
  const more = (n: number) =>
    Array.from({ length: n }, (_, i) => ({ name: `x${i}`, step_s: 3_600, rows: 24, points: 24 }))
  t.throws(() => new ArchiveWriter(archive.directory, START, [...TIERS, ...more(4)]), /more than 8 tiers/)
  const eight = new ArchiveWriter(archive.directory, START, [...TIERS, ...more(3)])
  await eight.close()
  t.throws(() => new ArchiveWriter(archive.directory, START, TIERS.slice(1)), /steps of 1 s/)
})

t.test('an archive made with the present tiers opens with an empty floor', async (t) => {
  const directory = temporaryFolder(t)
  const writer = new ArchiveWriter(directory, START)
  t.strictSame(
    writer.databases.table.map(({ name, database, floor_s }) => [name, database, floor_s]),
    TIERS.map(({ name }) => [name, name, 0]),
  )
  await writer.close()
})
