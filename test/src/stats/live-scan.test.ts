import t from 'tap'
import { findHeader } from '../../../src/drivers/haproxy/stats-csv.ts'
import { scanPlan, scanRows, type Watched } from '../../../src/stats/live-scan.ts'

const NEVER = { above: Number.POSITIVE_INFINITY, below: Number.NEGATIVE_INFINITY }
const CSV = [
  '# pxname,svname,qcur,scur,status,type,',
  'fe,FRONTEND,,12,OPEN,0,',
  'be,a,3,,UP 1/3,2,',
  'be,b,,7,DOWN 1/2,2,',
  'be,c,1,-4,"DOWN, or so",2,',
  'be,BACKEND,4,100,DOWN,1,',
  '',
].join('\n')

function found(watched: readonly Watched[]): readonly string[] {
  const csv = Buffer.from(CSV)
  const header = findHeader(csv)
  if (header === undefined) throw new Error('no header')
  const starts = [...CSV.matchAll(/^./gm)].map(({ index }) => index)
  const kinds = Uint8Array.from([0, 2, 2, 2, 1])
  const said: string[] = []
  scanRows(csv, Uint32Array.from(starts), kinds, scanPlan(watched, header.columns), (one, value, proxy, server) =>
    said.push(`${one.column} ${proxy}/${server} ${value}`),
  )
  return said
}

t.test('only values beyond a bound are found, of the requested kind', (test) => {
  test.same(found([{ kind: 'server', column: 'scur', ...NEVER, above: 6 }]), ['scur be/b 7'])
  test.same(found([{ kind: 'server', column: 'scur', ...NEVER, above: 7 }]), [])
  test.same(found([{ kind: 'server', column: 'qcur', ...NEVER, below: 2 }]), ['qcur be/c 1'], 'an empty value is not 0')
  test.same(found([{ kind: 'frontend', column: 'scur', ...NEVER, above: 0 }]), ['scur fe/FRONTEND 12'])
  test.end()
})

t.test('several figures are one pass', (test) => {
  const watched: readonly Watched[] = [
    { kind: 'backend', column: 'scur', ...NEVER, above: 99 },
    { kind: 'backend', column: 'qcur', ...NEVER, above: 3 },
  ]
  test.same(found(watched), ['qcur be/BACKEND 4', 'scur be/BACKEND 100'])
  test.end()
})

t.test('a status that begins with DOWN is down; a missing figure is never found', (test) => {
  test.same(found([{ kind: 'server', column: 'status', above: 0, below: -1, isDown: true }]), ['status be/b 1'])
  test.same(found([{ kind: 'server', column: 'nothing', above: -1, below: 0 }]), [])
  test.end()
})
