import { readFileSync } from 'node:fs'
import t from 'tap'
import { createStatRows, fieldText, scanStats } from '../../../src/drivers/haproxy/stats-csv.ts'
import { rowKey } from '../../../src/stats/live-plan.ts'
import { LiveRows, skipFields } from '../../../src/stats/live-rows.ts'

const csv = new Uint8Array(readFileSync(new URL('../../fixtures/haproxy-2.6/show-stat.csv', import.meta.url)))
const P = '0198c0de-0000-7000-8000-00000000000'

function bytes(layout: number) {
  const rows = createStatRows()
  const header = scanStats(csv, rows)
  return {
    csv,
    rows: Uint32Array.from([header?.start ?? 0, ...rows.starts.subarray(0, rows.count)]),
    layout,
  }
}

t.test('which row is which object, looked at anew only when the rows are others', async (test) => {
  const index = new LiveRows()
  test.equal(index.get(rowKey('frontend', `${P}f`, '')), undefined)
  test.equal(index.columns.size, 0)
  const answer = bytes(1)
  test.equal(index.follow(answer), true)
  test.equal(index.follow(bytes(1)), false)
  test.equal(index.layout, 1)
  const row = index.get(rowKey('server', `${P}b`, `${P}1`)) ?? 0
  const start = answer.rows[row] ?? 0
  test.equal(fieldText(csv, start), `${P}b`)
  test.equal(fieldText(csv, skipFields(csv, start, 1)), `${P}1`)
  test.equal(index.columns.get('svname'), 1)
  index.forget()
  test.equal(index.follow(bytes(1)), true, 'who answers next may count its layouts anew')
})

t.test('an answer without a header changes nothing', async (test) => {
  const index = new LiveRows()
  index.follow(bytes(1))
  test.equal(index.follow({ csv: new Uint8Array(Buffer.from('a,b\n')), rows: Uint32Array.from([0]), layout: 2 }), false)
  test.equal(index.layout, 1)
})
