import t from 'tap'
import { mergeSorted, SortedRecords } from '../../../storage/config/sorted-records.ts'

interface Row {
  readonly key: string
  readonly n: number
}
const row = (key: string, n = 0): Row => ({ key, n })
const keyOf = ({ key }: Row) => key

t.test('records are replaced, added and removed in the order of their keys', async (test) => {
  const sorted = ['b', 'd', 'f'].map((key) => row(key))
  const changes = new Map([
    ['g', row('g', 1)],
    ['a', row('a', 1)],
    ['d', row('d', 1)],
    ['f', undefined],
    ['c', undefined],
  ])
  test.same(mergeSorted(sorted, keyOf, changes), [row('a', 1), row('b'), row('d', 1), row('g', 1)])
  test.same(mergeSorted([], keyOf, changes), [row('a', 1), row('d', 1), row('g', 1)])
  test.equal(mergeSorted(sorted, keyOf, new Map()), sorted, 'nothing changed, nothing copied')
})

t.test('any changes give the same as sorting all records', async (test) => {
  const records = new SortedRecords<Row>()
  const model = new Map<string, Row>()
  // A fixed sequence: the same every time, and far from any order.
  let state = 1
  const next = (bound: number) => (state = (state * 48_271) % 2_147_483_647) % bound
  for (let n = 0; n < 3_000; n++) {
    const key = `${next(200)}`
    const record = next(3) === 0 ? undefined : row(key, n)
    records.set(key, record)
    if (record === undefined) model.delete(key)
    else model.set(key, record)
    if (next(4) > 0) continue
    const wanted = [...model.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
    if (JSON.stringify(records.list()) !== JSON.stringify(wanted)) test.fail(`after ${n} changes`)
  }
  test.equal(records.byKey.size, model.size)
})

t.test('a list that was handed out stays as it was', async (test) => {
  const records = new SortedRecords<Row>()
  records.set('a', row('a'))
  const before = records.list()
  records.set('b', row('b'))
  records.set('a', undefined)
  test.same(before, [row('a')])
  test.same(records.list(), [row('b')])
  test.equal(records.list(), records.list(), 'created once')
})
