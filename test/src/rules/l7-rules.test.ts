import t from 'tap'
import type { Action, Condition, Rule } from '../../../src/model/l7-rules.ts'
import { backendRuleProblems, frontendRuleProblems, takesAll } from '../../../src/rules/l7-rules.ts'

type Mode = 'http' | 'tcp'
const DENY: Action = { type: 'deny' }
const ofFrontend = (rules: readonly Rule[], mode: Mode = 'http') =>
  frontendRuleProblems({ mode, rules: [...rules] }).map(({ field, message }) => `${field} ${message}`)
const ofBackend = (rules: readonly Rule[], mode: Mode = 'http') =>
  backendRuleProblems({ mode, rules: [...rules] }).map(({ field, message }) => `${field} ${message}`)
const condition = (type: Condition['type'], values: readonly string[], more: Partial<Condition> = {}): Condition => ({
  type,
  values: [...values],
  ...more,
})
/** Problems of a rule with this condition, without the prefix of each. */
const about = (one: Condition, mode?: Mode) =>
  ofFrontend([{ when: { all: [one] }, do: DENY }], mode).map((text) => text.replace('rules.0.when.all.0.', ''))
const doing = (action: Action, mode?: Mode) =>
  ofFrontend([{ do: action }], mode).map((text) => text.replace('rules.0.do.', ''))

t.test('conditions', (test) => {
  for (const [one, problems] of [
    [condition('path', ['/a']), []],
    [condition('path', ['a']), ['values.0 must begin with /']],
    [condition('path', ['a'], { match: 'ends' }), []],
    [condition('path', []), ['values are required for path']],
    [condition('path', ['/a'], { name: 'x' }), ['name is not allowed for path']],
    [condition('path', ['/a'], { match: 'in' }), ['match must be one of is, begins, ends, contains, regex with path']],
    [condition('path', [''], { match: 'contains' }), ['values.0 must not be empty']],
    [condition('host', ['www.test', '[::1]']), []],
    [condition('host', ['www.test:80', '*.test', 'a b']), 3],
    [condition('method', ['GET', 'get']), ['values.1 must be a method, such as GET']],
    [condition('header', [], { name: 'X' }), []],
    [condition('header', ['', 'a b'], { name: 'X' }), []],
    [condition('header', ['x']), ['name is required for header']],
    [condition('source', ['192.0.2.0/24', '::1', '192.0.2.1'], { match: 'in' }), []],
    [condition('source', ['192.0.2.0/33', 'x', '1.2.3']), 3],
    [condition('source', ['::1'], { match: 'begins' }), ['match must be one of is, in with source']],
    [condition('status', ['404']), ['type status is not available for requests']],
    [condition('sni', ['www.test']), []],
    [condition('path', ['(a+)+'], { match: 'regex' }), ['values.0 must not contain nested repetitions, such as (a+)+']],
  ] as const) {
    const found = about(one)
    if (typeof problems === 'number') test.equal(found.length, problems, JSON.stringify(one))
    else test.same(found, problems, JSON.stringify(one))
  }
  test.same(about(condition('sni', ['www.test']), 'tcp'), [])
  test.same(about(condition('host', ['www.test']), 'tcp'), ['type host is not available for connections'])
  test.same(ofFrontend([{ when: {}, do: DENY }]), ['rules.0.when must have either all or any'])
  const path = condition('path', ['/'])
  test.same(ofFrontend([{ when: { all: [path], any: [path] }, do: DENY }]), [
    'rules.0.when must have either all or any',
  ])
  test.end()
})

t.test('actions', (test) => {
  for (const [action, problems] of [
    [{ type: 'backend' }, ['backendId is required for backend']],
    [{ type: 'deny', to: '/', status: 418 }, 2],
    [{ type: 'redirect', to: 'https://{host}{path}?{query}', status: 308 }, []],
    [
      { type: 'redirect', to: 'javascript:alert(1)' },
      ['to must be a URL with http or https, or a path, without spaces'],
    ],
    [{ type: 'redirect', to: '/a b' }, ['to must be a URL with http or https, or a path, without spaces']],
    [{ type: 'redirect', to: '/', status: 200 }, ['status must be one of 301, 302, 303, 307, 308 with redirect']],
    [{ type: 'redirect', to: '/{hosts}' }, /^to \{hosts\} is not one of \{source\}, .*\{header\.NAME\}/],
    [{ type: 'setHeader', name: 'X', value: '{header} {cookie.a} {source.x}' }, 2],
    [{ type: 'setHeader', name: 'X', value: '{"a":{"b":1}} { host }' }, []],
    [{ type: 'setHeader', name: 'Transfer-Encoding', value: 'x' }, [/which HAProxy itself sets/]],
    [{ type: 'setHeader', name: 'X', value: '' }, ['value must not be empty']],
    [{ type: 'addHeader', name: 'X', value: '' }, ['value must not be empty']],
    [{ type: 'removeHeader', name: 'X' }, []],
    [{ type: 'removeHeader', name: 'content-length' }, [/which HAProxy itself sets/]],
    [{ type: 'setVariable', name: 'a', value: '' }, ['value must not be empty']],
    [{ type: 'setVariable', name: 'a', value: ' ' }, []],
    [{ type: 'setVariable', name: '1a', value: 'x' }, [/must begin with a letter/]],
    [{ type: 'setHeader', name: 'X', value: '{variable.a-b}' }, [/is not one of/]],
    [{ type: 'rewritePath', value: '/a', to: '/b' }, []],
    [{ type: 'rewritePath', value: 'a', to: 'b c' }, 2],
    [{ type: 'rewritePath', value: '/a', to: '{path}/b' }, []],
    [{ type: 'rewritePath', match: 'regex', value: '^/a(/.*)', to: '\\1' }, []],
    ...['{header.X}', '{host}/b', '{query}', '\\1'].map((to): [Action, RegExp[]] => [
      { type: 'rewritePath', value: '/a', to },
      [/to must begin with \/ or \{path\}/],
    ]),
    [{ type: 'rewritePath', value: '/a', to: '/b?c=1' }, [/to must be a path without \?/]],
    [{ type: 'rewritePath', match: 'regex', value: '^/a/(.*)', to: '/b#\\1' }, [/to must be a path without \?/]],
    [{ type: 'rewritePath', match: 'regex', value: '(a*)*', to: '/' }, [/must not contain nested/]],
    [{ type: 'rewritePath', match: 'regex', value: 'a', to: '/\\1\\\\{query}\\.' }, []],
    [{ type: 'rewritePath', value: '/a', to: '/\\x20\\' }, []],
    ...['/\\', '/\\\\\\x0a', '/\\{query}'].map((to): [Action, RegExp[]] => [
      { type: 'rewritePath', match: 'regex', value: 'a', to },
      [/has an invalid/],
    ]),
    [{ type: 'limit', per: 'source', rate: 5, over: 60, burst: 2, answer: 503 }, []],
    [{ type: 'limit', per: 'source', rate: 5, name: 'x' }, ['name is not allowed for limit per source']],
    [{ type: 'limit', per: 'header', rate: 5 }, ['name is required for limit per header']],
    [{ type: 'limit' }, ['per is required for limit', 'rate is required for limit']],
  ] as const) {
    const found = doing(action)
    if (typeof problems === 'number') test.equal(found.length, problems, JSON.stringify(action))
    else if (problems instanceof RegExp) test.match(found[0], problems, JSON.stringify(action))
    else test.match(found, problems, JSON.stringify(action))
    if (Array.isArray(problems)) test.equal(found.length, problems.length, found.join())
  }
  test.same(doing({ type: 'redirect', to: '/' }, 'tcp'), ['type redirect is not available for connections'])
  test.same(doing({ type: 'deny', status: 403 }, 'tcp'), ['status is not available in mode tcp'])
  const limit: Rule = { do: { type: 'limit', per: 'source', rate: 1 } }
  test.same(ofFrontend([limit, limit, limit]), [])
  test.match(ofFrontend([limit, limit, limit, limit]), [/^rules\.3\.do\.type limit is used in more than 3 rules/])
  test.end()
})

t.test('on responses only headers can be changed, depending on known data', (test) => {
  const status = condition('status', ['404', '500-599'])
  test.same(ofBackend([{ when: { any: [status] }, do: { type: 'setHeader', name: 'X', value: '{source}' } }]), [])
  test.match(ofBackend([{ do: DENY }]), [/deny is not available for responses/])
  test.match(ofBackend([{ do: { type: 'setHeader', name: 'X', value: '{path}' } }]), [/is not one of/])
  test.match(ofBackend([{ when: { all: [condition('status', ['4xx'])] }, do: { type: 'removeHeader', name: 'X' } }]), [
    /must be a status or a range/,
  ])
  const reversed = [condition('status', ['500-500', '599-500'])]
  test.match(ofBackend([{ when: { all: reversed }, do: { type: 'removeHeader', name: 'X' } }]), [
    /values\.1 is the range 599-500, which contains no status/,
  ])
  test.same(ofBackend([{ do: DENY }], 'tcp'), ['rules need mode http'])
  test.same(ofBackend([], 'tcp'), [])
  test.end()
})

t.test('a rule without a condition that ends the list applies to every request', (test) => {
  test.ok(takesAll({ do: DENY }))
  test.notOk(takesAll({ do: { type: 'limit', per: 'source', rate: 1 } }))
  test.notOk(takesAll({ when: { all: [condition('path', ['/'])] }, do: DENY }))
  test.end()
})
