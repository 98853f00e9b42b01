/**
 * Random lives of an archive against the reference model: gaps, several seconds at once, objects that come and go,
 * restarts at any tick, also with other tiers, the clock set back and ahead, refusals of LMDB and the disk.
 * FULCRUM_TEST_ARCHIVE_RUNS: number of runs; a failing one is named by its seed.
 */
import t from 'tap'
import { floorTo } from '../../storage/archive/layout.ts'
import { ArchiveReader } from '../../storage/archive/reader.ts'
import { METRIC_COUNT, TIERS } from '../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../storage/archive/writer.ts'
import { checkArchive } from '../../storage/archive/check.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { ArchiveRun, noEvents } from './archive-run.ts'
import { insistSame, readTier } from './store-comparison.ts'

const RUNS = Number(process.env['FULCRUM_TEST_ARCHIVE_RUNS'] ?? 1)
const FIRST = Number(process.env['FULCRUM_TEST_ARCHIVE_SEED'] ?? 1)
const TICKS = 2_000

t.test('whatever happens to an archive, it answers like the model', { timeout: 1_800_000 * RUNS }, async (test) => {
  let compared = 0
  const totals = noEvents()
  for (let seed = FIRST; seed < FIRST + RUNS; seed += 1) {
    const run = new ArchiveRun(temporaryFolder(test), seed)
    try {
      await run.live(TICKS)
      test.strictSame(checkArchive(run.databases), [], `seed ${seed}`)
    } catch (error) {
      test.fail(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`)
    }
    await run.close()
    compared += run.compared
    for (const key of Object.keys(totals) as (keyof typeof totals)[]) totals[key] += run.events[key]
  }
  test.ok(compared > 0)
  test.comment(`${compared} columns of buckets compared; ${JSON.stringify(totals)}`)
})

/** Objects are numbered as they appear, and the number decides when their chunks are written. */
t.test('the order in which objects appeared does not matter', async (test) => {
  const start_s = 1_700_000_000
  const names = Array.from({ length: 40 }, (_, n) => `s${n}`)
  const stores = [names, names.toReversed()].map((order) => {
    const directory = temporaryFolder(test)
    const writer = new ArchiveWriter(directory, start_s)
    for (const name of order) writer.ensure('server', name, 'backend')
    return { writer, directory }
  })
  for (let second = start_s; second < start_s + 900; second += 1) {
    for (const { writer } of stores) {
      writer.ring.beginSecond(second)
      for (const [n, name] of names.entries()) {
        const slot = writer.ensure('server', name, 'backend')?.slot ?? -1
        for (let metric = 0; metric < METRIC_COUNT; metric += 1)
          writer.ring.set(slot, second, metric, (second * (n + 7) * (metric + 3)) % 1_009)
      }
      writer.commit(second + 1, true, undefined)
    }
  }
  const readers = stores.map(({ writer, directory }) => ({
    reader: new ArchiveReader(directory, writer.ring.header, writer.ring.slabs),
    objects: writer.objects(),
  }))
  for (const name of names) {
    for (const [tier, { step_s }] of TIERS.entries()) {
      const [first, second] = readers.map(({ reader, objects }) => {
        const object = objects.find((known) => known.name === name)
        const end = floorTo(start_s + 900, step_s)
        return readTier(reader, tier, object ?? { id: 0, slot: -1 }, floorTo(start_s, step_s), end)
      })
      if (first !== undefined && second !== undefined) insistSame(`${name} ${tier}`, first, second)
    }
  }
  for (const { writer } of stores) await writer.close()
  test.pass(`${names.length} objects`)
})
