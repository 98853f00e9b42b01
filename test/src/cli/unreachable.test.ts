import t from 'tap'
import { DOUBT, mayChange, Unreachable } from '../../../src/cli/unreachable.ts'

t.test('a lost answer to a change is in doubt, and nothing else is', (test) => {
  const lost = Object.assign(new Error('read'), { code: 'ECONNRESET', syscall: 'read' })
  const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED', syscall: 'connect' })
  const said = 'https://lb1 cannot be reached:'
  const change = new Unreachable('https://lb1', lost, { isChange: true })
  test.match(change, { message: `${said} the connection was reset; ${DOUBT}`, isLost: true, isUnsent: false })
  test.equal(new Unreachable('https://lb1', lost).message, `${said} the connection was reset`)
  const unsent = new Unreachable('https://lb1', refused, { isChange: true })
  test.match(unsent, { message: `${said} nothing listens there`, isUnsent: true })
  test.notMatch(unsent.message, DOUBT)
  test.end()
})

t.test('plans and imports change nothing', (test) => {
  const asked = [
    'GET /services/apply',
    'POST /config/plan',
    'POST /config/import',
    'PUT /services/apply',
    'POST /ipgroups',
  ]
  const changing = asked.filter((one) => mayChange(...(one.split(' ') as [string, string])))
  test.same(changing, ['PUT /services/apply', 'POST /ipgroups'])
  test.end()
})
