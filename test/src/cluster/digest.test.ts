import fc from 'fast-check'
import t from 'tap'
import { type DigestedRecord, RecordsDigest } from '../../../src/cluster/digest.ts'

const record = (value: unknown, place: Partial<DigestedRecord> = {}): DigestedRecord => ({
  section: 'rips',
  scope: '',
  key: 'a',
  ...place,
  value,
})
const digestOf = (records: readonly DigestedRecord[]) => {
  const digest = RecordsDigest.empty()
  for (const each of records) digest.add(each)
  return digest.toString()
}

const places = fc.record({
  section: fc.constantFrom('rips', 'users', 'fips'),
  scope: fc.constantFrom('', 'n1', 'n2'),
  key: fc.constantFrom('a', 'b', 'c', 'd'),
})
const edits = fc.array(fc.record({ place: places, value: fc.option(fc.jsonValue(), { nil: undefined }) }), {
  maxLength: 60,
})

/** The same value, its fields in the opposite order. */
function turned(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(turned)
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, field]) => [name, turned(field)] as const),
  )
}

t.test('stores of equal contents agree, whatever their history', async () => {
  fc.assert(
    fc.property(edits, (steps) => {
      const store = new Map<string, DigestedRecord>()
      const digest = RecordsDigest.empty()
      for (const { place, value } of steps) {
        const at = JSON.stringify(place)
        const before = store.get(at)
        // Undefined is a removal.
        if (value === undefined) {
          if (before !== undefined) digest.remove(before)
          store.delete(at)
        } else {
          const after = { ...place, value }
          if (before === undefined) digest.add(after)
          else digest.replace(before, after)
          store.set(at, after)
        }
      }
      const others = [...store.values()].toReversed().map((each) => ({ ...each, value: turned(each.value) }))
      return digest.toString() === digestOf(others)
    }),
    { numRuns: 500 },
  )
})

t.test('stores that differ in one record do not', async () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { minLength: 1, maxLength: 8 }), fc.nat(), (values, which) => {
      const records = values.map((value, at) => record(value, { key: String(at) }))
      const whole = digestOf(records)
      const at = which % records.length
      const one = records[at] ?? record(null)
      const others = records.toSpliced(at, 1)
      const changed = [
        others,
        [...records, one],
        [...others, { ...one, key: 'elsewhere' }],
        [...others, { ...one, scope: 'n1' }],
        [...others, { ...one, section: 'users' }],
        [...others, { ...one, value: { was: one.value } }],
      ]
      return changed.every((each) => digestOf(each) !== whole)
    }),
    { numRuns: 300 },
  )
})

t.test('no part of a record runs into the next', async (test) => {
  const parts = [
    record(1, { section: 'ab', scope: 'c', key: 'd' }),
    record(1, { section: 'a', scope: 'bc', key: 'd' }),
    record(1, { section: 'a', scope: 'b', key: 'cd' }),
    record(1, { section: 'a","b', scope: 'c', key: 'd' }),
    record('1', { section: 'ab', scope: 'c', key: 'd' }),
    record([1], { section: 'ab', scope: 'c', key: 'd' }),
    record(null, { section: 'ab', scope: 'c', key: 'd' }),
  ]
  test.equal(new Set(parts.map((each) => digestOf([each]))).size, parts.length)
})

t.test('nodes of different versions agree', async (test) => {
  const records = [
    { section: 'rips', scope: '', key: 'a', value: { weight: 100, name: 'wéb' } },
    { section: 'staticIps', scope: 'node-1', key: 'b', value: null },
  ]
  test.equal(digestOf(records), 'cd1bda45de5f59cb3260f238a87855faf32fb97ae2af494df1ebcb23037a9d40')
})

t.test('fields without a value do not count, as in the store', async (test) => {
  test.equal(digestOf([record({ a: 1, b: undefined })]), digestOf([record({ a: 1 })]))
})

t.test('it is written and read again', async (test) => {
  test.equal(RecordsDigest.empty().toString(), '0'.repeat(64))
  const digest = RecordsDigest.from(digestOf([record(1), record(2, { key: 'b' })]))
  digest.remove(record(1))
  test.equal(digest.toString(), digestOf([record(2, { key: 'b' })]))
  digest.remove(record(2, { key: 'b' }))
  digest.remove(record(3))
  test.match(digest.toString(), /^[0-9a-f]{64}$/, 'it wraps around below zero')
  digest.add(record(3))
  test.equal(digest.toString(), RecordsDigest.empty().toString())
  for (const text of ['', '0', 'A'.repeat(64), '0'.repeat(65)]) test.throws(() => RecordsDigest.from(text), TypeError)
})
