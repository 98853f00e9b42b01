import t from 'tap'
import { isWeb, statusesProblem, webProblem } from '../../../src/health-checks/web-values.ts'

t.test('statuses are a list of statuses and ranges, none of which is empty', async (test) => {
  for (const good of ['200', '200-399', '200,204', '100-199,304,500-599']) test.equal(statusesProblem(good), undefined)
  for (const bad of ['', '99', '600', '000', 'abc', '200;x', '@x', '200 on-error x', '200,', ' 200']) {
    test.match(statusesProblem(bad), /^must be statuses/, bad)
  }
  test.match(statusesProblem('200,300-200'), /300-200, which contains no status/)
})

t.test(
  'values of the checks http and https follow the rules of settings, those of other checks do not',
  async (test) => {
    for (const id of ['http', 'https']) {
      for (const [name, bad] of [
        ['host', 'a b'],
        ['host', ''],
        ['host', '%[env(PATH)]'],
        ['host', 'user@example.org'],
        ['path', '/a b'],
        ['path', '/\u00e9'],
        ['expect', '999'],
      ] as const) {
        test.type(webProblem(id, name, bad), 'string', `${name} ${bad}`)
        test.equal(webProblem('own', name, bad), undefined)
        test.equal(isWeb({ [name]: bad }), false)
      }
      test.equal(webProblem(id, 'text', 'anything % at all'), undefined)
    }
    test.equal(isWeb({ path: '/%[x]?a=${b}', host: '[2001:db8::1]:81', expect: '200-299,304' }), true)
    test.equal(isWeb({}), true)
  },
)
