/**
 * Random lives of a polled HAProxy: late polls, silences, cleared counters, reloads with old processes that continue,
 * servers that are removed and come back, restarts of the daemon. Counts must be in the seconds where the rules put
 * them. FULCRUM_TEST_COLLECTOR_RUNS and FULCRUM_TEST_COLLECTOR_SEED: number of lives, and the first seed.
 */
import t from 'tap'
import { checkArchive } from '../../storage/archive/check.ts'
import { floorTo } from '../../storage/archive/layout.ts'
import { ArchiveReader } from '../../storage/archive/reader.ts'
import { TIERS } from '../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../storage/archive/writer.ts'
import { Collector } from '../../workers/archive/collector.ts'
import { ReferenceModel, seededRandom } from '../storage/archive/reference-model.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { CollectorModel } from './collector-model.ts'
import { CountingFarm } from './counting-farm.ts'
import { compareWithModel } from './store-comparison.ts'

const RUNS = Number(process.env['FULCRUM_TEST_COLLECTOR_RUNS'] ?? 1)
const FIRST = Number(process.env['FULCRUM_TEST_COLLECTOR_SEED'] ?? 1)
const TICKS = 1_500
const NAMES = ['s1', 's2', 's3', 'tcp4', 'tcp5']

/** Everything follows from the seed. Returns the number of compared columns. */
async function live(directory: string, seed: number): Promise<number> {
  const random = seededRandom(seed)
  const whole = (below: number) => Math.floor(random() * below)
  const start_s = 1_700_000_000 + whole(3_600)
  const model = new ReferenceModel()
  let writer = new ArchiveWriter(directory, start_s)
  let collector = new Collector(writer)
  const farm = new CountingFarm(NAMES, whole, start_s - 100)
  const rules = new CollectorModel(model, writer.hwm_s)
  let compared = 0
  const compareAll = () => {
    const reader = new ArchiveReader(directory, writer.ring.header, writer.ring.slabs)
    for (const place of writer.objects()) {
      for (const [tier, { step_s }] of TIERS.entries()) {
        const from = floorTo(start_s - 10, step_s)
        const to = Math.max(from, floorTo(writer.hwm_s, step_s))
        compared += compareWithModel(reader, model, { tier, place, from, to })
      }
    }
    const problems = checkArchive(writer.databases)
    if (problems.length > 0) throw new Error(problems.join('\n'))
  }
  let silent = 0
  for (let tick_s = start_s + 1; tick_s <= start_s + TICKS; tick_s += 1) {
    farm.grow()
    if (random() < 0.02) farm.reload(tick_s - random())
    if (random() < 0.05) farm.endOne()
    if (random() < 0.005) farm.clearCounters()
    if (random() < 0.02) farm.toggle(NAMES[whole(NAMES.length)] ?? '')
    if (random() < 0.03) silent = 1 + whole(random() < 0.8 ? 4 : 15)
    const time = { archive_s: tick_s + 0.05, monotonic_s: tick_s - start_s }
    if (silent > 0) {
      silent -= 1
      collector.miss(tick_s, time)
      rules.miss(tick_s)
    } else {
      collector.absorb(farm.poll(tick_s + 0.05), time)
      collector.close(tick_s, time)
      rules.poll(farm, tick_s)
    }
    if (random() < 0.005) {
      await writer.close()
      writer = new ArchiveWriter(directory, tick_s)
      collector = new Collector(writer)
      rules.restart()
    }
    if (random() < 0.005) compareAll()
  }
  compareAll()
  await writer.close()
  return compared
}

t.test('counts are in the seconds where the rules put them', { timeout: 1_800_000 * RUNS }, async (test) => {
  let compared = 0
  for (let seed = FIRST; seed < FIRST + RUNS; seed += 1) {
    try {
      const columns = await live(temporaryFolder(test), seed)
      compared += columns
      test.ok(columns > 0, `seed ${seed}`)
    } catch (error) {
      test.fail(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  test.comment(`${compared} columns of buckets compared`)
})
