import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Filter, fits, mayHold, testOf } from '../../../storage/logs/filter.ts'
import { encodeSegment, Segment } from '../../../storage/logs/segment.ts'
import { logFolder, logRow } from '../../fixtures/log-rows.ts'

const ROW = logRow({ path: '/cart?x=1', status: 503, total_ms: 500 })
const { at_ms } = ROW
const RIGHT: readonly Filter[] = [
  {},
  { from_ms: at_ms },
  { to_ms: at_ms + 1 },
  { frontend: 'shop', server: 'web', source: '192.0.2.7' },
  { statuses: { from: 500, to: 503 } },
  { path: 'cart?' },
  { slowerThan_ms: 499 },
]
const WRONG: readonly Filter[] = [
  { from_ms: at_ms + 1 },
  { to_ms: at_ms },
  { frontend: 'other' },
  { server: 'other' },
  { source: '192.0.2.70' },
  { statuses: { from: 504, to: 599 } },
  { path: '/Cart' },
  { slowerThan_ms: 500 },
  { frontend: 'shop', path: 'nothing' },
]

t.test('a filter gives the same result for a row, its columns and a head', async (test) => {
  const path = join(logFolder(test), 'one')
  writeFileSync(path, encodeSegment([ROW]))
  const segment = new Segment(1, path)
  const ofColumns = (filter: Filter) => segment.read((columns) => testOf(columns, filter)?.(0) ?? false)
  for (const filter of RIGHT) {
    const all = [fits(ROW, filter), ofColumns(filter), mayHold(segment.head, filter)]
    test.strictSame(all, [true, true, true], JSON.stringify(filter))
  }
  for (const filter of WRONG) {
    test.strictSame([fits(ROW, filter), ofColumns(filter)], [false, false], JSON.stringify(filter))
    // Only paths are in no head.
    test.equal(mayHold(segment.head, filter), filter.path !== undefined)
  }
})

t.test('a text in paths is found however it is encoded in their list', async (test) => {
  const paths = ['/a"b', '/a\\b', '/ü😀', '/\u0001\t', '/\u2028', '/,', '/a/b', '/%22,%22']
  const path = join(logFolder(test), 'one')
  writeFileSync(path, encodeSegment(paths.map((one) => logRow({ path: one }))))
  const segment = new Segment(1, path)
  const found = (part: string) =>
    segment.read((columns) => {
      const fit = testOf(columns, { path: part })
      return paths.filter((_, index) => fit?.(index))
    })
  for (const one of paths) {
    test.strictSame(found(one), [one])
    test.ok(found(one.slice(1)).includes(one), 'a part of it')
    test.strictSame(
      found(one.slice(2)),
      paths.filter((other) => other.includes(one.slice(2))),
    )
  }
  for (const none of ['","', '"/', '\\u', '\\"', 'u0001', 'other']) test.strictSame(found(none), [], none)
})
