import t from 'tap'
import type { HealthCheckSetting } from '../../../src/model/health-check.ts'
import { L7_BACKEND_UNSET, L7_FRONTEND_UNSET, type L7Backend, type L7Frontend } from '../../../src/model/layer7.ts'
import type { Warning } from '../../../src/model/warning.ts'
import { idleOfBackend, idleOfFrontend } from '../../../src/warnings/idle-fields.ts'
import { backend, frontend, l4Backend } from '../../fixtures/config.ts'

/** Returns what a warning says after the name of its record; undefined without one. */
const said = ([found]: readonly Warning[]) => found?.message.replace(/^.* has fields without effect: /, '')

t.test('the persistence of another type', async (test) => {
  const of = (persistence: L7Backend['persistence'], more: Partial<L7Backend> = {}) =>
    said(idleOfBackend('l7Backends', backend('b', [], { persistence, ...more })))
  for (const type of ['cookie', 'none'] as const)
    test.equal(of({ type, timeout: 60 }), 'persistence.timeout needs type ip', type)
  for (const type of ['ip', 'none'] as const)
    test.equal(of({ type, cookieName: 'SHOP' }), 'persistence.cookieName needs type cookie', type)
  test.equal(of({ type: 'cookie', cookieName: 'SHOP' }), undefined)
  test.equal(of({ type: 'ip', timeout: 60 }), undefined)
  test.equal(of({ type: 'cookie', timeout: 60 }, { enabled: false }), undefined)
})

t.test('the request of a check that sends none, on both layers', async (test) => {
  const of = (healthCheck: HealthCheckSetting) => {
    const found = idleOfBackend('l7Backends', backend('b', [], { healthCheck }))
    test.equal(said(idleOfBackend('l4Backends', l4Backend('b', [], { healthCheck }))), said(found))
    return said(found)
  }
  test.equal(
    of({ type: 'tcp', path: '/health', host: 'a.example', expect: '200' }),
    ['path', 'host', 'expect'].map((field) => `healthCheck.${field} needs type http or https`).join(', '),
  )
  test.match(of({ type: 'script', id: 'http', path: '/health' }), 'healthCheck.path needs type http or https; a script')
  test.equal(of({ type: 'http', path: '/health', expect: '200' }), undefined)
  test.equal(of({ type: 'none', path: '/health' }), undefined, 'nobody takes it for checked')
})

t.test('TLS of a frontend without certificates', async (test) => {
  const of = (more: Partial<L7Frontend>) => said(idleOfFrontend(frontend('f', 'b', more)))
  const tls = { cipherListId: 'l', minTls: '1.3', alpn: ['http/1.1'] } satisfies Partial<L7Frontend>
  test.equal(of(tls), 'cipherListId needs certificates, minTls needs certificates, alpn needs certificates')
  test.equal(of({ ...tls, certificates: ['c'] }), undefined)
  test.equal(of({ ...tls, enabled: false }), undefined)
})

t.test('parts of rules', async (test) => {
  const of = (rule: NonNullable<L7Frontend['rules']>[number], more: Partial<L7Frontend> = {}) =>
    said(idleOfFrontend(frontend('f', 'b', { rules: [rule], ...more })))
  const answer = { type: 'respond', contentType: 'text/html' } as const
  test.equal(of({ do: answer }), 'rules.0.do.contentType needs a body')
  test.equal(of({ do: { ...answer, body: '<p>' } }), undefined)
  const named = { when: { any: [{ type: 'sni' as const, values: ['a.example'] }] }, do: { type: 'deny' as const } }
  test.equal(of(named), 'rules.0.when.any.0 needs certificates')
  test.equal(of(named, { certificates: ['c'] }), undefined)
  test.equal(of(named, { mode: 'tcp' }), undefined, 'the name is in the handshake that is passed on')
})

t.test('a record that is read and sent back unchanged is not warned of', async (test) => {
  test.same(idleOfFrontend(frontend('f', 'b', L7_FRONTEND_UNSET)), [])
  test.same(idleOfBackend('l7Backends', backend('b', [], L7_BACKEND_UNSET)), [])
})
