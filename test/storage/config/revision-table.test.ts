import { open } from 'lmdb'
import t, { type Test } from 'tap'
import type { Revision } from '../../../storage/config/config-store.ts'
import { type CountedHeader, RevisionTable } from '../../../storage/config/revision-table.ts'
import { temporaryFolder } from '../../config-fixture.ts'

const revision = (number: number, at = 'c'): Revision => ({
  applyId: `a${number}`,
  revision: number,
  by: 'b',
  at,
  comment: '',
  changes: Array.from({ length: number }, (_, n) => ({ section: 's', scope: '', key: `${n}`, before: null, after: n })),
})

function fixture(test: Test) {
  const root = open({ path: temporaryFolder(test, 'revisions'), noSubdir: false, encoding: 'json' })
  test.teardown(() => root.close())
  const revisions = root.openDB<Revision, string>({ name: 'revisions', encoding: 'json' })
  const headers = root.openDB<CountedHeader, string>({ name: 'headers', encoding: 'json' })
  return {
    root,
    revisions,
    headers,
    table: () => new RevisionTable(revisions, headers, { kept: 5, ms: 1_000, kept_max: 8 }),
  }
}

t.test('revisions and their headers are listed, newest first, and the oldest go', async (test) => {
  const { root, table } = fixture(test)
  const revisions = table()
  for (let number = 1; number <= 8; number++) await root.batch(() => revisions.put(revision(number)))
  const numbers = (list: readonly { readonly revision: number }[]) => list.map((entry) => entry.revision)
  test.same(numbers(revisions.list(10, undefined)), [8, 7, 6, 5, 4])
  test.same(numbers(revisions.headers(10, undefined)), [8, 7, 6, 5, 4])
  test.same(numbers(revisions.headers(2, 7)), [6, 5])
  test.same(numbers(revisions.list(1, 7)), [6])
  test.match(revisions.headers(1, undefined), [{ applyId: 'a8', count: 8 }])
  test.notOk('changes' in (revisions.headers(1, undefined)[0] ?? {}))
})

t.test('young ones stay although they are many, until there are far too many', async (test) => {
  const { root, table } = fixture(test)
  const revisions = table()
  const put = (number: number, ms: number) =>
    root.batch(() => revisions.put(revision(number, new Date(1_000_000 + ms).toISOString())))
  const oldest = () => revisions.oldest
  test.equal(oldest(), undefined)
  for (let number = 1; number <= 8; number++) await put(number, number)
  test.equal(oldest(), 1, 'eight in no time, and none is gone')
  await put(9, 9)
  test.equal(oldest(), 2)
  await put(10, 2_000)
  test.equal(oldest(), 6, 'the old ones, down to the number that is kept however old')
  await put(11, 90_000)
  test.equal(oldest(), 7)
})

t.test('what a version without headers has kept gets them', async (test) => {
  const { root, revisions, table } = fixture(test)
  for (let number = 1; number <= 3; number++) await revisions.put(String(number).padStart(12, '0'), revision(number))
  const again = table()
  test.match(again.headers(9, undefined), [{ count: 3 }, { count: 2 }, { count: 1 }])
  await root.batch(() => again.put(revision(4)))
  test.equal(table().headers(9, undefined).length, 4)
})
