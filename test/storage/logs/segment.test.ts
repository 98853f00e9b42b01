import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { encodeSegment, Segment } from '../../../storage/logs/segment.ts'
import { logFolder, logRow } from '../../fixtures/log-rows.ts'

t.test('rows are read back as written, and the head describes the content', async (test) => {
  const path = join(logFolder(test), 'one')
  const rows = [
    logRow(),
    logRow({ at_ms: 1_800_000_000_500, path: '/ü?"', status: 503, total_ms: 4_000, connect_ms: -1 }),
  ]
  writeFileSync(path, encodeSegment(rows))
  const segment = new Segment(7, path)
  test.match(segment.head, { rows: 2, slowest_ms: 4_000, frontends: ['shop'], statuses: [200, 503] })
  test.strictSame(
    segment.read((columns) => [columns.row(0), columns.row(1)]),
    rows,
  )
})

t.test('damaged data are not trusted', async (test) => {
  const path = join(logFolder(test), 'one')
  const whole = encodeSegment([logRow()])
  for (const [name, at] of [
    ['mark', 0],
    ['head', 30],
  ] as const) {
    const bytes = Buffer.from(whole)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    writeFileSync(path, bytes)
    test.throws(() => new Segment(1, path), /no segment|damaged/, name)
  }
  writeFileSync(path, whole.subarray(0, 20))
  test.throws(() => new Segment(1, path), /cut off/)
  writeFileSync(path, whole)
  const segment = new Segment(1, path)
  const last = readFileSync(path)
  last[last.length - 1] = (last.at(-1) ?? 0) ^ 1
  writeFileSync(path, last)
  test.throws(() => segment.read((columns) => columns.row(0)), /column headers is damaged/)
})
