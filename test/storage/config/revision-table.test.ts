import t, { type Test } from 'tap'
import type { Revision } from '../../../storage/config/config-store.ts'
import { RevisionTable } from '../../../storage/config/revision-table.ts'
import { ConfigTables } from '../../../storage/config/tables.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const revision = (number: number, at = 'c'): Revision => ({
  applyId: `a${number}`,
  revision: number,
  by: 'b',
  at,
  comment: '',
  changes: Array.from({ length: number }, (_, n) => ({ section: 's', scope: '', key: `${n}`, before: null, after: n })),
})

function fixture(test: Test) {
  const tables = new ConfigTables(temporaryFolder(test, 'revisions'))
  test.teardown(() => tables.close())
  const [revisions, headers] = tables.revisions.tables
  return {
    tables,
    revisions,
    headers,
    table: new RevisionTable(revisions, headers, { kept: 5, ms: 1_000, kept_max: 8 }),
  }
}

const numbers = (list: readonly { readonly revision: number }[]) => list.map((entry) => entry.revision)

t.test('revisions and their headers are listed, newest first, and the oldest are deleted', async (test) => {
  const { tables, table } = fixture(test)
  for (let number = 1; number <= 8; number++) await tables.commit(table.put(revision(number)))
  test.same(numbers(table.list(10, undefined)), [8, 7, 6, 5, 4])
  test.same(numbers(table.headers(10, undefined)), [8, 7, 6, 5, 4])
  test.same(numbers(table.headers(2, 7)), [6, 5])
  test.same(numbers(table.list(1, 7)), [6])
  test.match(table.headers(1, undefined), [{ applyId: 'a8', count: 8 }])
  test.notOk('changes' in (table.headers(1, undefined)[0] ?? {}))
})

t.test('young ones stay although they are many, until there are far too many', async (test) => {
  const { tables, table } = fixture(test)
  const put = (number: number, ms: number) =>
    tables.commit(table.put(revision(number, new Date(1_000_000 + ms).toISOString())))
  const oldest = () => table.oldest
  test.equal(oldest(), undefined)
  for (let number = 1; number <= 8; number++) await put(number, number)
  test.equal(oldest(), 1, 'eight in no time, and all are there')
  await put(9, 9)
  test.equal(oldest(), 2)
  await put(10, 2_000)
  test.equal(oldest(), 6, 'the old ones, down to the minimum number')
  await put(11, 90_000)
  test.equal(oldest(), 7)
})

t.test('revisions of a version without headers get them', async (test) => {
  const { tables, table, revisions } = fixture(test)
  for (let number = 1; number <= 3; number++) {
    await tables.commit([revisions.put(String(number).padStart(12, '0'), revision(number))])
  }
  await tables.commit(table.unlisted())
  test.match(table.headers(9, undefined), [{ count: 3 }, { count: 2 }, { count: 1 }])
  await tables.commit(table.put(revision(4)))
  test.same(table.unlisted(), [])
  test.equal(table.headers(9, undefined).length, 4)
})
