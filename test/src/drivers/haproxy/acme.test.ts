import t from 'tap'
import { challengeStatements, whyUnanswered } from '../../../../src/drivers/haproxy/acme.ts'
import { haproxyDriver } from '../../../../src/drivers/haproxy/driver.ts'
import { frontendStatements } from '../../../../src/drivers/haproxy/frontend.ts'
import { supervisedPaths } from '../../../../src/drivers/haproxy/paths.ts'
import { textOf } from '../../../../src/drivers/haproxy/statement.ts'
import { thumbprintOf } from '../../../../src/rules/acme.ts'
import { acmeAccount, acmeOrder } from '../../../fixtures/acme.ts'
import { frontend } from '../../../fixtures/config.ts'
import { viewOf } from '../../../fixtures/view.ts'
import { FOLDERS } from './records.ts'

const account = acmeAccount('a')
const HTTP_01 = { challenge: 'http-01' } as const
const plain = frontend('f', null, { ports: '80', httpRedirectToHttps: true })
const ordered = { acmeAccounts: [account], acmeOrders: [acmeOrder('o', 'a', { names: ['b.test', 'a.test'] })] }

t.test('the frontend with port 80 answers for the names of each account, before its redirect', async (test) => {
  const other = acmeAccount('other')
  const records = {
    acmeAccounts: [account, other],
    acmeOrders: [...ordered.acmeOrders, acmeOrder('p', 'a', { names: ['c.test'] }), acmeOrder('q', 'other')],
  }
  const text = textOf(frontendStatements(plain, viewOf(records), FOLDERS))
  const answer = (of: typeof account) =>
    `http-request return status 200 content-type text/plain lf-string '%[path,field(4,/)].${thumbprintOf(of)}' ` +
    String.raw`if { path -m reg '^/\.well-known/acme-challenge/[A-Za-z0-9_-]+$' } acme-${of.id}`
  test.match(text, '    acl acme-a req.hdr(host),host_only,lower -m str -- a.test b.test c.test\n')
  test.match(text, '    acl acme-other req.hdr(host),host_only,lower -m str -- www.site.test\n')
  for (const one of [account, other]) test.match(text, `    ${answer(one)}\n`)
  test.ok(text.indexOf('http-request return') < text.indexOf('http-request redirect'))
})

t.test('frontends that the CA does not use are unchanged', async (test) => {
  const view = viewOf(ordered)
  const others = [
    frontend('f', null, { ports: '8080' }),
    frontend('f', null, { ports: '80', mode: 'tcp' }),
    frontend('f', null, { ports: '80', enabled: false }),
    frontend('f', null, { ports: '80', certificates: ['c'] }),
  ]
  for (const one of others) {
    test.same(challengeStatements(one, view), [])
    test.match(
      whyUnanswered(viewOf({ l7Frontends: [one] }), account, HTTP_01),
      /with port 80 without TLS, .*: create one, or add port 80 and httpRedirectToHttps to the frontend of the site$/,
    )
  }
  test.equal(whyUnanswered(viewOf({ l7Frontends: [plain] }), account, HTTP_01), undefined)
  const forwarded = acmeAccount('a', { httpPort: 8080 })
  test.equal(
    whyUnanswered(viewOf({ l7Frontends: [frontend('f', null, { ports: '8000-8100' })] }), forwarded, HTTP_01),
    undefined,
  )
  const ofTheSite = frontend('f', null, { ports: '443,8080', httpRedirectToHttps: true, certificates: ['c'] })
  test.match(
    whyUnanswered(viewOf({ l7Frontends: [ofTheSite] }), forwarded, HTTP_01),
    /with port 8080 without TLS, .*: create one$/,
    'beside TLS only port 80 stays plain',
  )
  const broken = { ...ordered, acmeAccounts: [acmeAccount('a', { privateKey: 'none' })] }
  test.same(challengeStatements(plain, viewOf(broken)), [], 'an unreadable key')
})

t.test('many names stay within the maximum line of HAProxy', async (test) => {
  const names = Array.from({ length: 100 }, (_, at) => `n${at}.test`)
  const view = viewOf({ ...ordered, acmeOrders: [acmeOrder('o', 'a', { names })] })
  const lines = challengeStatements(plain, view).map(({ text }) => text.trim().split(' ').length)
  test.equal(lines.length, 4)
  test.ok(lines.every((words) => words <= 64))
})

t.test('an order is a reload where a frontend answers for it, and nothing elsewhere', async (test) => {
  const driver = haproxyDriver(supervisedPaths('/tmp/x'))
  const [order] = ordered.acmeOrders
  const change = { section: 'acmeOrders', id: 'o', before: undefined, after: order } as const
  const before = (one: typeof plain) => viewOf({ acmeAccounts: [account], l7Frontends: [one] })
  const after = (one: typeof plain) => viewOf({ ...ordered, l7Frontends: [one] })
  test.equal(driver.effectOf(change, before(plain), after(plain)), 'reload')
  const elsewhere = frontend('f', null, { ports: '8080' })
  test.equal(driver.effectOf(change, before(elsewhere), after(elsewhere)), undefined)
})
