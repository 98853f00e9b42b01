import t from 'tap'
import type { Condition, Rule, When } from '../../../src/model/l7-rules.ts'
import type { L7Frontend } from '../../../src/model/layer7.ts'
import { rulesWithoutEffect } from '../../../src/warnings/rules.ts'
import { frontend } from '../../fixtures/config.ts'

const codes = (found: readonly { readonly code: string }[]) => found.map(({ code }) => code)

const onPath = (match: 'is' | 'begins', path: string): Pick<Rule, 'when'> => ({
  when: { all: [{ type: 'path', match, values: [path] }] },
})

t.test('RULE_CANNOT_HOLD: an earlier one matches every request', async (test) => {
  const of = (rules: Rule[], more: Partial<L7Frontend> = {}) =>
    rulesWithoutEffect(frontend('f', 'b', { rules, ...more })).map(({ code, message }) => [code, message] as const)
  const [all, some, header]: Rule[] = [
    { name: 'closed', do: { type: 'deny' } },
    { ...onPath('is', '/a'), do: { type: 'deny' } },
    { do: { type: 'removeHeader', name: 'X' } },
  ]
  test.same(of([some, header, all] as Rule[]), [])
  test.match(of([header, all, some] as Rule[]), [
    ['RULE_CANNOT_HOLD', /rule 2 \(closed\) handles every request, so rule 3/],
  ])
  test.same(of([all, some] as Rule[], { enabled: false }), [])
})

t.test('REDIRECT_LOOP: its target matches it again', async (test) => {
  const of = (when: Pick<Rule, 'when'>, to: string) =>
    codes(rulesWithoutEffect(frontend('f', 'b', { rules: [{ ...when, do: { type: 'redirect', to } }] })))
  test.same(of({}, '/a?x'), ['REDIRECT_LOOP'])
  test.same(of(onPath('begins', '/a'), '/a/b#c'), ['REDIRECT_LOOP'])
  test.same(of(onPath('is', '/a'), '/a'), ['REDIRECT_LOOP'])
  test.same(of(onPath('is', '/a'), '/a/'), [])
  test.same(of(onPath('begins', '/a'), 'https://other.test/a'), [], 'another host')
  test.same(of(onPath('begins', '/a'), '/{host}/a'), [], 'unknown')
})

const that = (type: Condition['type'], match: Condition['match'], ...values: string[]): Condition => ({
  type,
  ...(match && { match }),
  values,
})
const all = (...conditions: Condition[]): When => ({ all: conditions })
const not = (condition: Condition): Condition => ({ ...condition, negate: true })
const API = that('path', 'begins', '/api')
const A = that('host', 'is', 'a.test')

t.test('RULE_CANNOT_HOLD: an earlier one matches all of its requests, only where that is certain', async (test) => {
  const of = (...rules: Rule[]) =>
    rulesWithoutEffect(frontend('f', 'b', { rules })).map(({ code, message }) => [code, message] as const)
  const pair = ([when, by]: readonly [When, When]): Rule[] => [
    { name: 'first', when: by, do: { type: 'backend', backendId: 'x' } },
    { when, do: { type: 'deny' } },
  ]
  const told = [['RULE_CANNOT_HOLD', /rule 1 \(first\) already handles every request that rule 2 could apply to/]]
  test.match(of(...pair([all(that('path', 'is', '/api/x')), all(API)])), told)
  test.same(of(...pair([all(API), all(that('path', 'is', '/api/x'))])), [])
  const [first, second] = pair([all(API), all(API)]) as [Rule, Rule]
  for (const type of ['rewritePath', 'setHeader', 'addHeader', 'removeHeader'] as const)
    test.same(of(first, { do: { type, name: 'X', value: '/x', to: '/api' } }, second), [], `${type} in between`)
  test.match(of(first, { do: { type: 'setVariable', name: 'x', value: 'y' } }, second), [
    ['RULE_CANNOT_HOLD', /rule 3 could apply to/],
  ])
  for (const type of ['limit', 'setHeader'] as const)
    test.same(of({ when: all(API), do: { type, name: 'X', rate: 1, per: 'source' } }, second), [], `${type} continues`)
  test.same(of({ do: { type: 'limit', rate: 1, per: 'source' } }, second), [])
})

t.test('REDIRECT_LOOP: to the same host and port as well', async (test) => {
  const TLS = { certificates: ['c'], ports: '443' }
  const of = (to: string, more: Partial<L7Frontend> = {}, when?: When) =>
    codes(
      rulesWithoutEffect(
        frontend('f', 'b', { ports: '80', ...more, rules: [{ ...(when && { when }), do: { type: 'redirect', to } }] }),
      ),
    )
  const LOOP = ['REDIRECT_LOOP']
  test.same(of('https://{host}{path}', TLS), LOOP)
  test.same(of('https://{host}{path}?{query}', TLS), LOOP)
  test.same(of('{path}?x=1'), LOOP)
  test.same(of('http://{host}/a'), LOOP)
  test.same(of('http://{host}/a', {}, all(that('path', 'is', '/b'))), [])
  test.same(of('https://{host}{path}'), [], 'to TLS, which another program terminates')
  test.same(of('http://{host}{path}', TLS), [], 'from TLS')
  test.same(of('https://{host}{path}', { ...TLS, ports: '8443' }), LOOP, 'clients send the port with the host')
  test.same(of('https://a.test/', TLS, all(A)), LOOP)
  test.same(of('https://A.test', TLS, all(A)), LOOP)
  test.same(of('https://a.test/x', TLS, all(that('host', 'ends', '.test'), that('path', 'contains', 'x'))), LOOP)
  test.same(of('https://a.test/', TLS), [], 'it may be another machine')
  test.same(of('https://a.test/', TLS, all(that('host', 'is', 'b.test'))), [])
  test.same(of('https://a.test/', TLS, all(not(that('host', 'is', 'b.test')))), [])
  test.same(of('https://a.test:8443/', TLS, all(A)), [], 'another port')
  test.same(of('https://a.test/', TLS, all(A, { ...that('cookie', undefined), name: 'seen', negate: true })), [])
  test.same(of('//a.test/', {}, all(A)), [])
  test.same(of('https://{host}{path}', TLS, all(that('source', 'in', '192.0.2.0/24'))), LOOP)
})

t.test('200 rules of 1,000 values each are checked without blocking others', async (test) => {
  const values = (from: number) => Array.from({ length: 1000 }, (_, at) => `h${from + at}.test`)
  for (const match of ['is', 'ends'] as const) {
    const rules = Array.from({ length: 200 }, (_, at): Rule => ({
      when: all(that('host', match, ...values(at))),
      do: { type: 'deny' },
    }))
    test.same(rulesWithoutEffect(frontend('f', 'b', { rules })), [])
  }
  const twice = Array.from({ length: 2 }, (): Rule => ({
    when: all(that('host', 'is', ...values(0).slice(0, 100))),
    do: { type: 'deny' },
  }))
  test.same(codes(rulesWithoutEffect(frontend('f', 'b', { rules: twice }))), ['RULE_CANNOT_HOLD'])
})
