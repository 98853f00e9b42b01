import t from 'tap'
import { whyUnanswered } from '../../../../src/drivers/haproxy/acme.ts'
import { haproxyDriver } from '../../../../src/drivers/haproxy/driver.ts'
import { frontendStatements, frontendSyntax } from '../../../../src/drivers/haproxy/frontend.ts'
import { supervisedPaths } from '../../../../src/drivers/haproxy/paths.ts'
import { textOf } from '../../../../src/drivers/haproxy/statement.ts'
import type { L7Frontend } from '../../../../src/model/layer7.ts'
import { acmeAccount, acmeOrder } from '../../../fixtures/acme.ts'
import { frontend } from '../../../fixtures/config.ts'
import { viewOf } from '../../../fixtures/view.ts'
import { FOLDERS } from './records.ts'

const account = acmeAccount('a')
const order = acmeOrder('o', 'a', { challenge: 'tls-alpn-01', names: ['b.test', 'a.test'] })
const ordered = { acmeAccounts: [account], acmeOrders: [order] }
const tls = (more: Partial<L7Frontend> = {}) => frontend('f', null, { ports: '443', certificates: ['c'], ...more })
const text = (more: Partial<L7Frontend> = {}, records: Parameters<typeof viewOf>[0] = ordered) =>
  textOf(frontendStatements(tls(more), viewOf(records), FOLDERS))
const TLS_ALPN_01 = { challenge: 'tls-alpn-01' } as const

t.test('the frontend with port 443 is preceded by the distinction of CAs and clients', async (test) => {
  const rendered = text({ ports: '440-450' })
  const [own = '', before = ''] = rendered.split('frontend before_f\n')
  const binds = [...own.matchAll(/^ {4}bind (.*?) ssl crt-list/gm)].map(([, place]) => place)
  test.match(binds, [
    '127.0.0.1:440-442',
    '127.0.0.1:444-450',
    /^unix@\/run\/haproxy\/[\w-]{10} user haproxy mode 600 accept-proxy$/,
  ])
  const socket = /unix@(\S+)/.exec(binds[2] ?? '')?.[1]
  test.equal(
    before,
    `    mode tcp
    bind 127.0.0.1:443
    timeout tunnel 24d
    timeout client-fin 30s
    timeout server-fin 30s
    tcp-request inspect-delay 5s
    tcp-request content accept if { req.ssl_hello_type 1 }
    acl is_ordered req.ssl_sni,lower -m str -- a.test b.test
    use_backend validated_f if { req.ssl_alpn acme-tls/1 } is_ordered { be_sess_rate(validated_f) lt 100 }
    default_backend passed_f
backend passed_f
    mode tcp
    timeout tunnel 24d
    timeout server-fin 30s
    server frontend unix@${socket} send-proxy-v2
backend validated_f
    mode tcp
    timeout server 10s
    retries 8
    server daemon unix@/run/fulcrum/acme.sock maxconn 64
`,
  )
})

t.test('it reads the PROXY protocol as the frontend says; HTTP/3 and other ports bypass it', async (test) => {
  test.match(text({ proxyProtocol: true, ip: '::' }), 'bind [::]:443 v6only accept-proxy\n')
  const trusted = text({ proxyProtocol: ['192.0.2.1'] }).split('frontend before_f')[1]
  test.match(trusted, 'tcp-request connection expect-proxy layer4 if { src 192.0.2.1 }')
  test.match(text({ http3: true }), 'bind quic4@127.0.0.1:443 ssl')
  const both = text({ ports: '80,443', httpRedirectToHttps: true })
  test.match(both, 'bind 127.0.0.1:80\n')
  test.equal(both.match(/bind 127\.0\.0\.1:443/g)?.length, 1)
  const names = Array.from({ length: 100 }, (_, at) => `n${at}.test`)
  const many = text({}, { ...ordered, acmeOrders: [{ ...order, names }] })
  test.equal(many.match(/acl is_ordered/g)?.length, 3, 'many names stay within the maximum line of HAProxy')
})

t.test('frontends that the CA does not use stay as they are', async (test) => {
  const other = { ...ordered, acmeOrders: [acmeOrder('o', 'a')] }
  for (const more of [{ ports: '8443' }, { certificates: [] }, { enabled: false }])
    test.notMatch(text(more), /before_f|unix@/)
  test.notMatch(text({}, other), /before_f|unix@/)
  const why = (...l7Frontends: L7Frontend[]) => whyUnanswered(viewOf({ l7Frontends }), account, TLS_ALPN_01)
  test.match(why(tls({ ports: '8443' })), /^needs an enabled frontend with port 443 and TLS/)
  test.match(why(tls({ certificates: [] })), /with port 443 and TLS/)
  test.equal(why(tls({ mode: 'tcp' })), undefined)
  const forwarded = acmeAccount('a', { tlsPort: 8443 })
  test.equal(whyUnanswered(viewOf({ l7Frontends: [tls({ ports: '8443' })] }), forwarded, TLS_ALPN_01), undefined)
})

t.test('an order is a reload where it puts something in front, and not when it is resumed', async (test) => {
  const driver = haproxyDriver(supervisedPaths('/tmp/x'))
  const [before, after] = [
    viewOf({ acmeAccounts: [account], l7Frontends: [tls()] }),
    viewOf({ ...ordered, l7Frontends: [tls()] }),
  ]
  const change = { section: 'acmeOrders', id: 'o', before: undefined, after: order } as const
  test.equal(driver.effectOf(change, before, after), 'reload')
  const underway = { ...order, progress: { of: '', answers: [{ name: 'a.test', value: 'x' }] } }
  const later = viewOf({ ...ordered, acmeOrders: [underway], l7Frontends: [tls()] })
  test.equal(driver.effectOf({ ...change, before: order, after: underway }, after, later), undefined)
  test.equal(frontendSyntax(tls(), after), frontendSyntax(tls(), later))
  test.not(frontendSyntax(tls(), before), frontendSyntax(tls(), after))
})
