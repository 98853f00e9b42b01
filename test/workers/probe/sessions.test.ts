import t from 'tap'
import { listen } from '../archive/socket-fixture.ts'
import { countSessions, readSessions } from '../../../workers/probe/sessions.ts'

const CSV = `# pxname,svname,qcur,qmax,scur,smax
a,FRONTEND,,,3,5
b,FRONTEND,,,4,5
stats,FRONTEND,,,9,9
`

t.test('connections of the requested frontends', async (test) => {
  test.equal(countSessions(CSV, ['a', 'b', 'gone']), 7)
  test.equal(countSessions('', ['a']), 0)
  const path = await listen(test, (request) => (request === 'show stat -1 1 -1\n' ? CSV : ''))
  test.equal(await readSessions(path, ['a', 'b', 'gone']), 7)
})

t.test('a HAProxy that is too busy to answer is not one that does not run', async (test) => {
  test.equal(await readSessions('/nowhere/at/all.sock', ['a']), 'not running')
  const busy = await listen(test, () => undefined)
  test.equal(await readSessions(busy, ['a'], 100), undefined)
})
