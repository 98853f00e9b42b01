import t, { type Test } from 'tap'
import { open } from 'lmdb'
import { CheckedTable, DamagedRowError, type RowWrite, ignoreRejection } from '../../../storage/config/checked-table.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

function fixture(test: Test) {
  const root = open({ path: temporaryFolder(test, 'rows'), noSubdir: false })
  test.teardown(() => root.close())
  const rows = root.openDB<Uint8Array, string>({ name: 'things', encoding: 'binary' })
  const table = new CheckedTable<unknown>('things', rows, 'other')
  const commit = (...writes: readonly RowWrite[]) => root.batch(() => writes.forEach((write) => write.queue()))
  return { rows, table, commit }
}

t.test('rows are read back, listed and removed', async (test) => {
  const { table, commit } = fixture(test)
  const value = { text: 'Grüße\nzwei', list: [1, null, true] }
  await commit(table.put('a', value), table.put('b', 2))
  test.same(table.get('a'), value)
  test.equal(table.get('none'), undefined)
  test.same(
    [...table.rows()],
    [
      { key: 'a', value },
      { key: 'b', value: 2 },
    ],
  )
  test.same([...table.keys()], ['a', 'b'])
  await commit(table.remove('a'))
  test.same([...table.survey()], [{ key: 'b', value: 2 }])
})

t.test('the size of a row is known before it is written', async (test) => {
  const { table, commit } = fixture(test)
  const row = table.put('key', 'x'.repeat(60_000))
  test.ok(row.bytes > 60_000 && row.bytes < 60_100, `${row.bytes}`)
  test.equal(table.bytes('key'), 0)
  await commit(row)
  test.equal(table.bytes('key'), row.bytes - 'key'.length)
  test.equal(table.remove('key').bytes, 0)
})

t.test('each flipped bit of a row is noticed, and a row under a foreign key', async (test) => {
  const { rows, table, commit } = fixture(test)
  await commit(table.put('a', { weight: 5, name: 'web' }), table.put('b', 1))
  const whole = Buffer.from(rows.get('a') ?? [])
  for (let bit = 0; bit < 8 * whole.length; bit++) {
    const damaged = Buffer.from(whole)
    damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    await rows.put('a', damaged)
    test.throws(() => table.get('a'), new DamagedRowError('things', 'a'), `bit ${bit}`)
  }
  test.same(
    [...table.survey()],
    [
      { key: 'a', damaged: true },
      { key: 'b', value: 1 },
    ],
  )
  test.throws(() => [...table.rows()], /the record a of things is damaged/)
  await rows.put('a', new Uint8Array())
  test.throws(() => table.get('a'), DamagedRowError)
  await rows.put('a', Buffer.from(rows.get('b') ?? []))
  test.throws(() => table.get('a'), DamagedRowError)
})

t.test('rows of a version without checksums get checksums', async (test) => {
  const { rows, table, commit } = fixture(test)
  await rows.put('a', Buffer.from('{"n":1}'))
  await rows.put('other', Buffer.from('2'))
  test.throws(() => table.get('a'), DamagedRowError)
  await commit(...table.unchecked())
  test.same(table.get('a'), { n: 1 })
  test.same(Buffer.from(rows.get('other') ?? []).toString(), '2', 'foreign rows are unchanged')
})

t.test('a part that fails is reported by its batch only', async (test) => {
  let unhandled = 0
  const count = () => unhandled++
  process.on('unhandledRejection', count)
  test.teardown(() => process.off('unhandledRejection', count))
  ignoreRejection(Promise.reject(new Error('part')))
  await new Promise((resolve) => setImmediate(resolve))
  test.equal(unhandled, 0)
})
