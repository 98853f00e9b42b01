import fc from 'fast-check'
import t from 'tap'
import { compareOids } from '../../../src/snmp/agentx/answer.ts'
import type { Oid } from '../../../src/snmp/agentx/bytes.ts'
import { type Column, ColumnMib, countedKey, impliedKey, type KeyedRow, sortedRows } from '../../../src/snmp/columns.ts'

const numbersOf = (key: string) => Array.from(key, (character) => character.charCodeAt(0))
const column = (oid: Oid, keys: readonly string[], missing: readonly string[] = []): Column<KeyedRow> => ({
  oid,
  rows: () =>
    sortedRows(
      keys.map((key) => ({ key })),
      oid,
    ),
  value: ({ key }) => (missing.includes(key) ? undefined : { kind: 'text', value: key }),
})

t.test('a walk meets every value once, in the order of the identifiers', async (test) => {
  const keys = fc.uniqueArray(
    fc.string({ minLength: 1, maxLength: 6 }).filter((key) => /^[ -~]+$/.test(key)),
    {
      maxLength: 40,
    },
  )
  fc.assert(
    fc.property(keys, keys, fc.integer({ min: 0, max: 5 }), (first, second, absent) => {
      const missing = first.slice(0, absent)
      const mib = new ColumnMib([column([1, 2], second), column([1, 1], first, missing)])
      const wanted = [
        ...first.filter((key) => !missing.includes(key)).map((key) => [1, 1, ...numbersOf(key)]),
        ...second.map((key) => [1, 2, ...numbersOf(key)]),
      ].toSorted(compareOids)
      const met: Oid[] = []
      for (let next = mib.next([1], false); next !== undefined; next = mib.next(next.oid, false)) met.push(next.oid)
      test.same(met, wanted)
      for (const oid of met) {
        test.match(mib.get(oid), { kind: 'text' })
        test.same(mib.next(oid, true)?.oid, oid)
        test.equal(mib.get([...oid, 0]), 'noSuchInstance')
      }
    }),
    { numRuns: 60 },
  )
})

t.test('wherever a walk begins, it continues with the next value', async (test) => {
  const mib = new ColumnMib([column([1, 1], ['a', 'b', 'ba']), column([1, 3], ['c'])])
  const next = (oid: Oid) => mib.next(oid, false)?.oid.join('.')
  const [a, b] = ['a'.charCodeAt(0), 'b'.charCodeAt(0)]
  test.equal(next([]), '1.1.97')
  test.equal(next([1, 1]), '1.1.97')
  test.equal(next([1, 1, a]), '1.1.98')
  test.equal(next([1, 1, a, 4_294_967_295]), '1.1.98', 'numbers that no text contains')
  test.equal(next([1, 1, b]), '1.1.98.97')
  test.equal(next([1, 1, b, a, 0]), '1.3.99')
  test.equal(next([1, 2, 7]), '1.3.99')
  test.equal(next([1, 3, 99]), undefined)
  test.equal(next([2]), undefined)
})

t.test('missing values are distinguished: no such object, no such instance', async (test) => {
  const mib = new ColumnMib([column([1, 1], ['a', 'b'], ['b'])])
  test.equal(mib.get([1, 2, 97]), 'noSuchObject')
  test.equal(mib.get([1]), 'noSuchObject')
  test.equal(mib.get([1, 1]), 'noSuchInstance')
  test.equal(mib.get([1, 1, 98]), 'noSuchInstance', 'a row without this value')
  test.equal(mib.get([1, 1, 99]), 'noSuchInstance')
})

t.test('an index of two texts contains the length of the first', async (test) => {
  const keys = [countedKey('bb') + impliedKey('a'), countedKey('a') + impliedKey('zz')]
  const mib = new ColumnMib([column([1], keys)])
  test.same(mib.next([1], false)?.oid, [1, 1, ...numbersOf('a'), ...numbersOf('zz')])
})

t.test('rows whose name is too long for SNMP are left out', async (test) => {
  test.same(sortedRows([{ key: 'x'.repeat(127) }, { key: 'x'.repeat(128) }], [1]), [{ key: 'x'.repeat(127) }])
})
