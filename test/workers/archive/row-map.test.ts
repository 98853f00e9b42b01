import t from 'tap'
import { createStatRows, scanStats } from '../../../src/drivers/haproxy/stats-csv.ts'
import { RowMap } from '../../../workers/archive/row-map.ts'

t.test('objects are looked up only when the rows have changed', async (t) => {
  const map = new RowMap()
  const rows = createStatRows()
  const asked: string[] = []
  const update = (...lines: string[]): void => {
    const bytes = new Uint8Array(Buffer.from(`# pxname,svname,scur,stot,bin,bout,type,\n${lines.join('\n')}\n\n`))
    scanStats(bytes, rows)
    map.update(bytes, rows, (kind, name, backend) => {
      asked.push(`${kind} ${name} ${backend}`.trim())
      return undefined
    })
  }
  update('fe,FRONTEND,1,1,1,1,0,', 'be,s1,1,1,1,1,2,', 'be,BACKEND,1,1,1,1,1,')
  t.strictSame(asked, ['frontend fe', 'server s1 be', 'backend be'])
  const { layout } = map
  update('fe,FRONTEND,22,333,4444,5,0,', 'be,s1,1,1,1,1,2,', 'be,BACKEND,1,1,1,1,1,')
  t.strictSame([asked.length, map.layout], [3, layout])
  update('fe,FRONTEND,1,1,1,1,0,', 'be,s2,1,1,1,1,2,', 'be,BACKEND,1,1,1,1,1,')
  t.strictSame([asked.length, map.layout], [6, layout + 1], 'a name')
  update('fe,FRONTEND,1,1,1,1,0,', 'be,s2,1,1,1,1,2,')
  t.strictSame([asked.length, map.objects.length], [8, 2], 'a row less')
  update('fe,FRONTEND,1,1,1,1,0,', 'be,s2,1,1,1,1,1,')
  t.equal(asked.length, 10, 'another type')
})
