import t from 'tap'
import { countSessions, readSessions } from '../../../workers/probe/sessions.ts'

const CSV = `# pxname,svname,qcur,qmax,scur,smax
a,FRONTEND,,,3,5
b,FRONTEND,,,4,5
stats,FRONTEND,,,9,9
`

t.test('connections of the requested frontends', async (test) => {
  test.equal(countSessions(CSV, ['a', 'b', 'gone']), 7)
  test.equal(countSessions('', ['a']), 0)
  test.equal(await readSessions('/nowhere/at/all.sock', ['a']), 0, 'a stopped HAProxy has none')
})
