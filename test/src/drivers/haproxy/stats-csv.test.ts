import { readFileSync } from 'node:fs'
import t from 'tap'
import {
  createStatRows,
  fieldEnd,
  fieldText,
  findHeader,
  scanStats,
  STORED_COUNT,
} from '../../../../src/drivers/haproxy/stats-csv.ts'

const fixture = readFileSync(new URL('../../../fixtures/haproxy-2.6/show-stat.csv', import.meta.url))
const bytesOf = (text: string) => new Uint8Array(Buffer.from(text))
const HEADER = '# pxname,svname,scur,stot,bin,bout,type,last_chk,'

/** Parses the rows of an answer in the plain, slow way, with their first values. */
function scanned(bytes: Uint8Array, values = 4): unknown[] | undefined {
  const rows = createStatRows()
  if (scanStats(bytes, rows) === undefined) return undefined
  return Array.from({ length: rows.count }, (_, row) => {
    const at = rows.starts[row] ?? 0
    const names = [fieldText(bytes, at), fieldText(bytes, fieldEnd(bytes, at) + 1)]
    return [...names, rows.kinds[row], ...rows.values.subarray(row * STORED_COUNT, row * STORED_COUNT + values)]
  })
}

t.test('an answer of HAProxy 2.6', async (t) => {
  const proxy = '0198c0de-0000-7000-8000-00000000000'
  t.strictSame(scanned(fixture), [
    [`${proxy}f`, 'FRONTEND', 0, 0, 12, 624, 13_248],
    [`${proxy}b`, `${proxy}1`, 2, 0, 6, 312, 6_624],
    [`${proxy}b`, `${proxy}2`, 2, 0, 6, 312, 6_624],
    [`${proxy}b`, 'fallback', 2, 0, 0, 0, 0],
    [`${proxy}b`, 'BACKEND', 1, 0, 12, 624, 13_248],
  ])
})

t.test('values of some types are unknown for the others; errors are those of clients and of servers', async (t) => {
  const none = Number.NaN
  const more = scanned(fixture, STORED_COUNT)?.map((row) => (row as unknown[]).slice(7))
  t.strictSame(more, [
    [12, 0, 12, 0, 0, 0, 0, none, none, none, none],
    [6, 0, 6, 0, 0, 0, 0, 0, 1, 1, 1],
    [6, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    [12, 0, 12, 0, 0, 0, 0, 0, 1, 1, 1],
  ])
  const header = '# pxname,svname,qcur,scur,stot,bin,bout,ereq,econ,eresp,type,rtime,ctime,ttime,'
  const rows = ['fe,FRONTEND,,1,2,3,4,5,,,0,,,,', 'be,BACKEND,9,1,2,3,4,,6,7,1,10,11,12,', 'li,x,9,1,2,3,4,1,1,1,1,,,,']
  const values = scanned(bytesOf(`${header}\n${rows.join('\n')}\n\n`), STORED_COUNT)
  t.strictSame(
    values?.map((row) => (row as unknown[]).slice(13)),
    [
      [5, none, none, none, none],
      [13, 9, 10, 11, 12],
      [3, 9, none, none, none],
    ],
  )
})

t.test('columns are found by name: order and number do not matter', async (t) => {
  t.strictSame(scanned(bytesOf('# pxname,svname,new,bout,type,bin,stot,scur,\nfe,FRONTEND,x,4,0,3,2,1,\n\n')), [
    ['fe', 'FRONTEND', 0, 1, 2, 3, 4],
  ])
  t.equal(
    scanned(bytesOf('# pxname,svname,scur,stot,bin,type,\nfe,FRONTEND,1,2,3,0,\n\n')),
    undefined,
    'bout is missing',
  )
})

t.test('quoted fields with commas, quotes and line breaks', async (t) => {
  const text = `${HEADER}\n"a,""b""",s1,1,2,3,4,2,"one\ntwo, ""three""",\nfe,FRONTEND,5,6,7,8,0,,\n\n`
  t.strictSame(scanned(bytesOf(text)), [
    ['a,"b"', 's1', 2, 1, 2, 3, 4],
    ['fe', 'FRONTEND', 0, 5, 6, 7, 8],
  ])
})

t.test('empty and odd values are unknown, large ones exact, and larger ones wrap around', async (t) => {
  const row = (name: string, ...values: string[]) => `${name},FRONTEND,${values.join()},0,,\n`
  const rows = [
    row('a', '', '-1', '9007199254740991', '9007199254740992'),
    row('b', 'x', '1x', '9007199254740999', '18446744073709551615'),
  ]
  t.strictSame(scanned(bytesOf(`${HEADER}\n${rows.join('')}\n`)), [
    ['a', 'FRONTEND', 0, Number.NaN, Number.NaN, Number.MAX_SAFE_INTEGER, 0],
    ['b', 'FRONTEND', 0, Number.NaN, Number.NaN, 7, Number.MAX_SAFE_INTEGER],
  ])
})

t.test("listeners and HAProxy's own proxies are left out, and no other proxy for its name", async (t) => {
  const row = (name: string, iid: number, type: number) => `${name},x,1,2,3,4,${iid},${type},,`
  const rows = [
    row('GLOBAL', 0, 1),
    row('MASTER', 0, 0),
    row('#hidden', 2, 1),
    row('fe', 2, 3),
    row('fe', 2, 0),
    row('MASTER', 3, 0),
    row('GLOBAL', 40, 1),
  ]
  const header = HEADER.replace(',type', ',iid,type')
  t.strictSame(scanned(bytesOf(`${header}\n${rows.join('\n')}\n\n`), 1), [
    ['fe', 'x', 0, 1],
    ['MASTER', 'x', 0, 1],
    ['GLOBAL', 'x', 1, 1],
  ])
})

t.test('a torn answer is no answer, wherever it is torn', async (t) => {
  for (let length = 0; length < fixture.length; length += 7) t.equal(scanned(fixture.subarray(0, length)), undefined)
  t.equal(scanned(bytesOf(`${HEADER}\nfe,FRONTEND,1\n\n`)), undefined, 'a short row')
  t.equal(scanned(bytesOf("Can't find the target PID matching the prefix '@1'\n\n")), undefined)
})

t.test('the header is found after another answer; many rows grow the arrays', async (t) => {
  const rows = Array.from({ length: 1_000 }, (_, i) => `be,s${i},${i},2,3,4,2,,`)
  const bytes = bytesOf(`#<PID> <type>\n9 master\n\n${HEADER}\n${rows.join('\n')}\n\n`)
  t.equal(findHeader(bytes)?.start, 24)
  t.strictSame(scanned(bytes)?.at(-1), ['be', 's999', 2, 999, 2, 3, 4])
})
