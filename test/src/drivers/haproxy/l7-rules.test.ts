import t from 'tap'
import type { Action, Condition, Rule } from '../../../../src/model/l7-rules.ts'
import { backendRules, frontendRules, limitsOf } from '../../../../src/drivers/haproxy/l7-rules.ts'
import { backend, frontend } from '../../../fixtures/config.ts'
import { viewOf } from './records.ts'

/** The effect on requests is in test/system/haproxy-rules; here are its conditions. */

const view = viewOf({ l7Backends: [backend('api', []), backend('off', [], { enabled: false })] })
const texts = (rules: readonly Rule[], more: object = {}) =>
  frontendRules(frontend('f', null, { rules: [...rules], ...more }), view, '/maps').map(([text]) => text)
const API: Rule = { do: { type: 'backend', backendId: 'api' } }

t.test('without rules there is nothing', (test) => {
  test.same(texts([]), [])
  test.same(frontendRules(frontend('f', null), view, '/maps'), [])
  test.same(backendRules({}), [])
  test.end()
})

t.test('each line names its rule', (test) => {
  const rules: Rule[] = [
    {
      when: {
        any: [
          { type: 'method', values: ['PUT'] },
          { type: 'method', values: ['POST'], negate: true },
        ],
      },
      ...API,
    },
    { do: { type: 'deny' } },
  ]
  test.same(frontendRules(frontend('f', null, { rules }), view, '/maps'), [
    ['http-request del-header Upgrade if { req.fhdr(upgrade) -m sub -i h2c }', 'rules'],
    ['acl r0c0 method -m str -- PUT', 'rules.0'],
    ['acl r0c1 method -m str -- POST', 'rules.0'],
    ['http-request set-var(txn.fulcrum_backend) str(api) if r0c0 || !r0c1', 'rules.0'],
    ['http-request allow if { var(txn.fulcrum_backend) -m found }', 'rules.0'],
    ['http-request deny deny_status 403', 'rules.1'],
    ['use_backend %[var(txn.fulcrum_backend)] if { var(txn.fulcrum_backend) -m found }', 'rules'],
  ])
  test.end()
})

t.test('a limit counts where its rule matches, and applies to what it has counted', (test) => {
  const method = (value: string): Condition => ({ type: 'method', values: [value] })
  const [tracked, limited, counted] = texts([
    { when: { any: [method('PUT'), method('POST')] }, do: { type: 'limit', per: 'source', rate: 2, burst: 3 } },
  ]).slice(-3)
  test.match(tracked, /^http-request track-sc0 src table \S+ if r0c0 \|\| r0c1$/)
  test.match(limited, / if \{ sc_gpc0_rate\(0\) ge 5 \}$/)
  test.equal(counted, 'http-request sc-inc-gpc0(0)')
  test.end()
})

t.test('no line has more words than HAProxy reads, however long a rule is', (test) => {
  const any = Array.from({ length: 8 }, (): Condition => ({
    type: 'path',
    values: Array(1000).fill('/a b'),
    negate: true,
  }))
  const actions: Action[] = [
    { type: 'limit', per: 'header', name: 'X', rate: 1, over: 60, burst: 2, answer: 503 },
    { type: 'respond', status: 200, contentType: 'text/plain; charset=utf-8', body: 'a b\nc d' },
    { type: 'rewritePath', value: '/a b', to: '/{host}' },
  ]
  for (const line of texts(actions.map((action) => ({ when: { any }, do: action }))))
    test.ok((line.match(/(?:'[^']*'|\\.|[^\s'])+/g) ?? []).length <= 64, line.slice(0, 80))
  test.end()
})

t.test('a limit keeps its count wherever its rule is, and restarts when it changes', (test) => {
  const limit = (over: number): Rule => ({ do: { type: 'limit', per: 'source', rate: 2, over } })
  const names = (rules: Rule[]) => limitsOf({ id: 'f', rules }).map(({ name }) => name)
  const [first, second, third] = names([limit(1), limit(1), limit(2)])
  test.equal(new Set([first, second, third]).size, 3)
  test.same(names([{ do: { type: 'removeHeader', name: 'X' } }, limit(2), limit(1)]), [third, first])
  test.same(names([{ ...limit(1), name: 'called' }]), [first])
  const other = limitsOf({ id: 'g', rules: [limit(1)] }).map(({ name }) => name)
  test.not(other[0], first)
  test.end()
})

t.test('tcp: HAProxy waits for a name, unless it terminates TLS itself', (test) => {
  const rules: Rule[] = [{ when: { all: [{ type: 'sni', values: ['A.test'] }] }, ...API }]
  test.same(texts(rules, { mode: 'tcp' }).slice(0, 3), [
    'tcp-request inspect-delay 5s',
    "tcp-request content set-var(txn.fulcrum_backend) 'req.ssl_sni,lower,map_str(/maps/f.r0.map)' if { req.ssl_sni -m found }",
    'tcp-request content reject if { var(txn.fulcrum_backend) -m str -- - }',
  ])
  test.match(texts(rules, { mode: 'tcp', certificates: ['c'] })[0], / 'ssl_fc_sni,lower,map_str\(\S+\)'$/)
  const off: Rule = { do: { type: 'backend', backendId: 'off' } }
  test.same(texts([off], { mode: 'tcp' })[0], 'tcp-request content reject')
  test.end()
})
