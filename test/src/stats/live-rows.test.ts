import { readFileSync } from 'node:fs'
import t from 'tap'
import { createStatRows, fieldText, scanStats } from '../../../src/drivers/haproxy/stats-csv.ts'
import { rowKey } from '../../../src/stats/live-plan.ts'
import { LiveRows, skipFields } from '../../../src/stats/live-rows.ts'
import { seededRandom } from '../../storage/archive/reference-model.ts'

const LISTED = new Uint8Array(readFileSync(new URL('../../fixtures/haproxy-2.6/show-stat.csv', import.meta.url)))
const P = '0198c0de-0000-7000-8000-00000000000'

function bytes(layout: number, csv: Uint8Array = LISTED) {
  const rows = createStatRows()
  const header = scanStats(csv, rows)
  return {
    csv,
    rows: Uint32Array.from([header?.start ?? 0, ...rows.starts.subarray(0, rows.count)]),
    kinds: rows.kinds.slice(0, rows.count),
    layout,
  }
}

t.test('the object of each row, looked up again only when the rows change', async (test) => {
  const index = new LiveRows()
  test.equal(index.get(rowKey('frontend', `${P}f`, '')), undefined)
  test.equal(index.columns.size, 0)
  const answer = bytes(1)
  test.equal(index.follow(answer), true)
  test.equal(index.follow(bytes(1)), false)
  test.equal(index.layout, 1)
  const row = index.get(rowKey('server', `${P}b`, `${P}1`)) ?? 0
  const start = answer.rows[row] ?? 0
  test.equal(fieldText(answer.csv, start), `${P}b`)
  test.equal(fieldText(answer.csv, skipFields(answer.csv, start, 1)), `${P}1`)
  test.equal(index.columns.get('svname'), 1)
  index.forget()
  test.equal(index.follow(bytes(1)), true, 'another source may restart its layout numbers')
})

t.test('an answer without a header changes nothing', async (test) => {
  const index = new LiveRows()
  index.follow(bytes(1))
  const torn = { csv: new Uint8Array(Buffer.from('a,b\n')), rows: Uint32Array.from([0]), kinds: new Uint8Array(0) }
  test.equal(index.follow({ ...torn, layout: 2 }), false)
  test.equal(index.layout, 1)
})

const [HEADER = '', ...LINES] = Buffer.from(LISTED).toString().trimEnd().split('\n')
type Row = readonly [proxy: string, server: string, type: 0 | 1 | 2]

/** An answer with these rows, in the columns of a real one. */
function answerOf(rows: readonly Row[], layout: number) {
  const [line = ''] = LINES
  const type = HEADER.split(',').indexOf('type')
  const lines = rows.map((row) => [row[0], row[1], ...line.split(',').slice(2)].with(type, `${row[2]}`).join(','))
  return bytes(layout, new Uint8Array(Buffer.from(`${[HEADER, ...lines].join('\n')}\n\n`)))
}

const keyOf = ([proxy, server, type]: Row) =>
  rowKey(type === 0 ? 'frontend' : type === 1 ? 'backend' : 'server', proxy.replaceAll('"', ''), server)

t.test('rows that are added, removed or moved are found as in a fresh look-up', async (test) => {
  // A server may have the name of HAProxy's rows for frontend and backend, and quoted names hold a comma.
  const all: readonly Row[] = ['a', 'b', '"c,d"', 'e'].flatMap((proxy): readonly Row[] => [
    [proxy, 'FRONTEND', 0],
    [proxy, 'FRONTEND', 2],
    [proxy, 's1', 2],
    [proxy, 's10', 2],
    [proxy, 's1 ', 2],
    [proxy, 'BACKEND', 2],
    [proxy, 'BACKEND', 1],
  ])
  const random = seededRandom(7)
  const index = new LiveRows()
  const wrong: string[] = []
  for (let layout = 1; layout <= 200; layout += 1) {
    const kept = all.filter(() => random() > 0.1)
    const at = Math.floor(random() * kept.length)
    const rows = layout % 3 === 0 ? [...kept.slice(at), ...kept.slice(0, at)] : kept
    index.follow(answerOf(rows, layout))
    for (const row of all) {
      const place = rows.indexOf(row)
      if (index.get(keyOf(row)) !== (place < 0 ? undefined : place + 1)) wrong.push(`${layout}: ${row.join()}`)
    }
  }
  test.same(wrong, [])
})
