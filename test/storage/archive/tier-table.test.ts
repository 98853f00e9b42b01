import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openArchiveDatabases } from '../../../storage/archive/databases.ts'
import { carriedOver, newTable, readTable, sourceOf, writeTable } from '../../../storage/archive/tier-table.ts'
import { TIERS, tierAt } from '../../../storage/archive/tiers.ts'

const HWM = 1_700_000_000

t.test('the table is stored and read back; a broken one is refused', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'table-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const { environment, meta } = openArchiveDatabases(directory)
  t.equal(readTable(meta), undefined)
  const table = newTable(TIERS).map((tier, index) => ({ ...tier, floor_s: index * 10 }))
  environment.transactionSync(() => writeTable(meta, table))
  t.strictSame(readTable(meta), table)
  for (const broken of [
    '{}',
    '[{"name":"t0"}]',
    '[{"name":"t0","database":"t0","step_s":-1}]',
    '[{"name":"t0","database":"t0","step_s":1.5}]',
  ]) {
    environment.transactionSync(() =>
      meta.putSync(new Uint8Array([0, 0, 0, 0, 0, 0, 0, 3]), new Uint8Array(Buffer.from(broken))),
    )
    t.throws(() => readTable(meta))
  }
  await environment.close()
})

t.test('a tier continues when its buckets and chunks are the same', async (t) => {
  const table = newTable(TIERS)
  const day = tierAt(1)
  t.equal(carriedOver(table, { ...day, step_s: 20 }, HWM), undefined)
  t.equal(carriedOver(table, { ...day, points: 60 }, HWM), undefined)
  t.match(carriedOver(table, { ...day, rows: 100 }, HWM), { rows: 100, floor_s: 0, database: 't1' })
  t.match(carriedOver(table, { ...day, rows: day.rows * 2 }, HWM), { floor_s: HWM - 86_400 }, 'no more than was kept')
})

t.test('a new tier is computed from the one that reaches back furthest and fits', async (t) => {
  const table = newTable(TIERS)
  const wanted = (step_s: number) => sourceOf(table, { name: 'new', step_s, rows: 10, points: 10 }, HWM)
  t.strictSame([1, 7, 20, 120, 900, 7_200].map(wanted), [0, 0, 1, 2, 3, 4])
})
