import t from 'tap'
import type { Rule } from '../../../src/model/l7-rules.ts'
import type { L7Backend, L7Frontend } from '../../../src/model/layer7.ts'
import { believesAnybody, plainCookies, rests, withoutEffect } from '../../../src/warnings/frontends.ts'
import { backend, frontend } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

const TLS = { certificates: ['c'] }
const codes = (found: readonly { readonly code: string }[]) => found.map(({ code }) => code)

t.test('REDIRECT_CANNOT_FIRE: every port uses TLS', async (test) => {
  const of = (more: Partial<L7Frontend>) =>
    codes(withoutEffect(frontend('f', 'b', { httpRedirectToHttps: true, ...more })))
  test.same(of({ ...TLS, ports: '443' }), ['REDIRECT_CANNOT_FIRE'])
  test.same(of({ ...TLS, ports: '80,443' }), [], 'port 80 stays plain')
  test.same(of({ ports: '8080' }), [], 'without TLS all of them redirect')
  test.same(of({ ...TLS, ports: '443', enabled: false }), [])
  test.same(of({ ...TLS, ports: '443', httpRedirectToHttps: false }), [])
})

t.test('HSTS_CANNOT_FIRE: no port uses TLS', async (test) => {
  const of = (more: Partial<L7Frontend>) => codes(withoutEffect(frontend('f', 'b', more)))
  test.same(of({ hsts: true }), ['HSTS_CANNOT_FIRE'])
  test.same(of({ hsts: 300 }), ['HSTS_CANNOT_FIRE'])
  test.same(of({ hsts: true, ...TLS }), [])
  test.same(of({ hsts: 0 }), [])
})

t.test('COOKIE_NOT_SECURE: a port without TLS in front of a backend with cookies', async (test) => {
  const of = (
    more: Partial<L7Frontend>,
    persistence: L7Backend['persistence'] = { type: 'cookie', cookieName: 'SHOP' },
  ) => {
    const view = viewOf({ l7Backends: [backend('b', [], { persistence })] })
    return plainCookies(frontend('f', 'b', more), view).map(({ code, message }) => [code, message] as const)
  }
  test.match(of({}), [['COOKIE_NOT_SECURE', /frontend f \(f\) sends the cookie SHOP of the Layer 7 backend b \(b\)/]])
  test.match(of({}, { type: 'cookie' }), [['COOKIE_NOT_SECURE', /the cookie FULCRUMID/]])
  test.same(of({}, { type: 'ip' }), [])
  test.same(of(TLS), [])
  test.same(of({ ...TLS, ports: '80,443', httpRedirectToHttps: true }), [], 'port 80 only redirects to the other')
  test.same(of({ httpRedirectToHttps: true }), [])
})

t.test('COOKIE_NOT_SECURE: the backend of a rule as well', async (test) => {
  const persistence = { type: 'cookie' } as const
  const view = viewOf({ l7Backends: [backend('a', []), backend('b', [], { persistence })] })
  const rules: Rule[] = [{ do: { type: 'backend', backendId: 'b' } }]
  test.same(codes(plainCookies(frontend('f', 'a', { rules }), view)), ['COOKIE_NOT_SECURE'])
  test.same(codes(plainCookies(frontend('f', 'a'), view)), [])
})

t.test('PROXY_FROM_ANYBODY: any client of a frontend can set its address', async (test) => {
  const of = (more: Partial<L7Frontend>) => believesAnybody(frontend('f', 'b', more)).map(({ code }) => code)
  test.same(of({ proxyProtocol: true }), ['PROXY_FROM_ANYBODY'])
  for (const more of [{ proxyProtocol: ['192.0.2.1'] }, { proxyProtocol: true, enabled: false }, {}])
    test.same(of(more), [])
})

t.test('FRONTEND_RESTS: its floating IP is disabled', async (test) => {
  const view = viewOf({ floatingIps: [{ id: 'x', ip: '127.0.0.1', groupId: 'g', enabled: false }] })
  test.same(codes(rests('l7Frontends', frontend('f', 'b'), view)), ['FRONTEND_RESTS'])
  test.same(codes(rests('l7Frontends', frontend('f', 'b', { enabled: false }), view)), [])
  test.same(codes(rests('l7Frontends', frontend('f', 'b', { ip: '127.0.0.2' }), view)), [])
})
