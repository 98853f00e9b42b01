/**
 * Days of simulated seconds with objects that come and go: every tier is right at every checkpoint, and once the
 * longest retention is full, the file no longer grows. `FULCRUM_TEST_DAYS=30` runs the real steps for thirty days, with
 * retentions of at most five days so that all of them fill; without it, a small archive runs for eight hours.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { usedBytes } from '../../storage/env.ts'
import { checkArchiveDirectory } from '../../storage/archive/check.ts'
import { Points } from '../../storage/archive/consolidate.ts'
import { coverageStart, floorTo } from '../../storage/archive/layout.ts'
import { ArchiveReader } from '../../storage/archive/reader.ts'
import { METRIC_COUNT, type Tier } from '../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../storage/archive/writer.ts'
import { seededRandom } from '../storage/archive/reference-model.ts'

const HOUR = 3_600
const DAY = 24 * HOUR
const START = 1_700_000_000
const OBJECTS = 30

const DAYS = Number(process.env['FULCRUM_TEST_DAYS'] ?? 0)
const LONG = {
  seconds: DAYS * DAY,
  checkpoint_s: DAY,
  /** After this time an object is replaced. */
  life_s: 11 * HOUR,
  full_s: 7 * DAY,
  tiers: [
    { name: 't0', step_s: 1, rows: 2 * HOUR, points: 120 },
    { name: 't1', step_s: 10, rows: DAY / 10, points: 30 },
    { name: 't2', step_s: 60, rows: (2 * DAY) / 60, points: 30 },
    { name: 't3', step_s: 300, rows: (3 * DAY) / 300, points: 24 },
    { name: 't4', step_s: HOUR, rows: (5 * DAY) / HOUR, points: 24 },
  ] satisfies readonly Tier[],
}
const SHORT = {
  seconds: 8 * HOUR,
  checkpoint_s: HOUR,
  life_s: 2_000,
  full_s: 4 * HOUR,
  tiers: [
    { name: 't0', step_s: 1, rows: 1_200, points: 120 },
    { name: 't1', step_s: 10, rows: 360, points: 30 },
    { name: 't2', step_s: 60, rows: 120, points: 30 },
  ] satisfies readonly Tier[],
}

/** Returns the object of a place at a second: each place changes its tenant at its own time. */
function tenant(place: number, second: number, life_s: number): string {
  return `s${place}-${Math.floor((second + place * 397) / life_s)}`
}

/** Returns a value of the object: some rest, some work. */
function valueOf(place: number, metric: number, second: number): number {
  if (place % 2 === 0) return 0
  return (
    (Math.imul(second + place * 7_919 + metric * 104_729, 2_654_435_761) >>> 0) % (place % 5 === 0 ? 1_000_000 : 50)
  )
}

t.test(
  'days of seconds, with churn: right at every tier, and the file stops growing',
  { timeout: 10_800_000 },
  async (t) => {
    const { seconds, checkpoint_s, life_s, full_s, tiers } = DAYS > 0 ? LONG : SHORT
    const directory = mkdtempSync(join(tmpdir(), 'month-'))
    t.teardown(() => rmSync(directory, { recursive: true, force: true }))
    const writer = new ArchiveWriter(directory, START, tiers)
    const begin = writer.hwm_s
    const random = seededRandom(30)
    const sizes: number[] = []
    let compared = 0

    /** Compares random windows of every tier with the sums of the seconds. */
    const compare = async (): Promise<number> => {
      const reader = new ArchiveReader(directory, writer.ring.header, writer.ring.slabs)
      const values = new Float64Array(METRIC_COUNT)
      const points = new Points()
      let wrong = 0
      for (const [index, { step_s }] of tiers.entries()) {
        const tier = reader.tiers()[index]
        const from = Math.max(begin, tier === undefined ? 0 : coverageStart(tier, writer.hwm_s))
        for (let n = 0; n < 150; n++) {
          const start = floorTo(from + Math.floor(random() * (writer.hwm_s - from)), step_s)
          if (start < from || start + step_s > writer.hwm_s) continue
          const place = Math.floor(random() * OBJECTS)
          const name = tenant(place, start, life_s)
          const object = writer.objects().find((candidate) => candidate.name === name)
          if (object === undefined) {
            wrong++
            continue
          }
          if (index === 0) reader.readBase(object, start, start + 1, values)
          else reader.readCoarse(index, object, start, start + step_s, points)
          for (let metric = 0; metric < METRIC_COUNT; metric++) {
            let sum = 0
            for (let second = start; second < start + step_s; second++) {
              if (tenant(place, second, life_s) === name) sum += valueOf(place, metric, second)
            }
            const got = index === 0 ? values[metric] : points.sum[metric]
            compared++
            if (got !== sum) wrong++
          }
        }
      }
      await reader.close()
      return wrong
    }

    for (let second = begin; second < begin + seconds; second++) {
      writer.ring.beginSecond(second)
      for (let place = 0; place < OBJECTS; place++) {
        const slot = writer.ensure('server', tenant(place, second, life_s), 'be')?.slot ?? -1
        for (let metric = 0; metric < METRIC_COUNT; metric++) {
          writer.ring.set(slot, second, metric, valueOf(place, metric, second))
        }
      }
      writer.commit(second + 1, true, undefined)
      // LMDB's bookkeeping of readers is tidied between turns of the event loop.
      if (second % 1_000 === 0) await setImmediate()
      if ((second + 1 - begin) % checkpoint_s !== 0) continue
      t.equal(await compare(), 0, `hour ${(second + 1 - begin) / HOUR}`)
      if (second + 1 - begin >= full_s) sizes.push(usedBytes(writer.databases.environment))
    }
    const [first = 0] = sizes
    const last = sizes.at(-1) ?? 0
    t.ok(sizes.length > 3 && last <= first * 1.02 + 16 * 4_096, `${first} bytes when full, ${last} at the end`)
    t.ok(compared > 1_000, `${compared} sums compared`)
    const kept_s = tiers.reduce((most_s, { step_s, rows, points }) => Math.max(most_s, step_s * (rows + 2 * points)), 0)
    const oldest = writer.hwm_s - kept_s - 2 * HOUR
    const old = writer.objects().filter(({ died_s }) => died_s !== undefined && died_s < oldest)
    t.strictSame(old, [], 'objects that have aged out of every tier are forgotten')
    await writer.close()
    t.strictSame(await checkArchiveDirectory(directory), [])
  },
)
