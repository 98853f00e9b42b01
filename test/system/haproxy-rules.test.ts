import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import t from 'tap'
import type { Action, Condition, Rule, When } from '../../src/model/l7-rules.ts'
import { limitsOf } from '../../src/drivers/haproxy/l7-rules.ts'
import { backendRuleProblems, frontendRuleProblems } from '../../src/rules/l7-rules.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { backend, frontend, realServer } from '../fixtures/config.ts'
import { freePort } from '../fixtures/traffic.ts'
import { viewOf } from '../fixtures/view.ts'
import { until } from '../fixtures/until.ts'
import { haproxyFixture } from '../workers/host/haproxy-fixture.ts'
import { type Answered, ask, type Asked, origin } from './asked-haproxy.ts'

/** Each kind of condition and action, with requests to a real HAProxy: where they arrived, and their answers. */

const on = (type: Condition['type'], values: readonly string[], more: Partial<Condition> = {}): When => ({
  all: [{ type, values: [...values], ...more }],
})
const API: Action = { type: 'backend', backendId: 'api' }
const rule = (when: When | undefined, action: Action = API): Rule => ({ ...(when && { when }), do: action })
const all = (...conditions: Condition[]): When => ({ all: conditions })
const any = (...conditions: Condition[]): When => ({ any: conditions })
const path = (value: string, more: Partial<Condition> = {}): Condition => ({
  type: 'path',
  match: 'begins',
  values: [value],
  ...more,
})

/** Requests that match the condition go to the other backend. */
const CONDITIONS: readonly (readonly [name: string, when: When, fits: readonly Asked[], others: readonly Asked[]])[] = [
  ['path is', on('path', ['/a', '/b']), [{ path: '/a' }, { path: '/b?x=1' }], [{ path: '/a/' }, { path: '/A' }]],
  [
    'path begins',
    on('path', ['/api'], { match: 'begins' }),
    [{ path: '/api' }, { path: '/api/x' }],
    [{ path: '/x/api' }],
  ],
  ['an encoded path', on('path', ['/admin'], { match: 'begins' }), [{ path: '/%61dmin' }, { path: '/a%64min/x' }], []],
  [
    'a path with more slashes',
    on('path', ['/admin/x'], { match: 'begins' }),
    [{ path: '//admin///x' }, { path: '/admin%2F/x' }],
    [{ path: '/admins/x' }],
  ],
  ['path ends', on('path', ['.php'], { match: 'ends' }), [{ path: '/x.php?y' }], [{ path: '/x.php/' }]],
  ['path contains', on('path', ['/img/'], { match: 'contains' }), [{ path: '/a/img/b' }], [{ path: '/img' }]],
  ['path regex', on('path', ['^/v[12]/(a|b)$'], { match: 'regex' }), [{ path: '/v1/a' }], [{ path: '/v3/a' }]],
  [
    'path with all special characters',
    on('path', [`/it's "a" #1 \\ %[src] $HOME {x} -i`]),
    [{ path: `/it%27s%20%22a%22%20%231%20%5C%20%25%5Bsrc%5D%20%24HOME%20%7Bx%7D%20-i` }],
    [{ path: '/' }],
  ],
  ['a value like a flag', on('header', ['-i', '--', '-f'], { name: 'X-A' }), [{ headers: { 'X-A': '-f' } }], [{}]],
  [
    'host is',
    on('host', ['API.example.org']),
    [
      { headers: { Host: 'api.example.org:8080' } },
      { headers: { Host: 'Api.Example.ORG' } },
      { headers: { Host: 'api.example.org.' } },
      { headers: { Host: 'api.example.org.:8080' } },
    ],
    [{ headers: { Host: 'x.api.example.org' } }],
  ],
  [
    'host is, with a dot at its end',
    all({ type: 'host', values: ['api.test.'] }, { type: 'method', values: ['GET'] }),
    [{ headers: { Host: 'api.test' } }, { headers: { Host: 'api.test.' } }],
    [{ headers: { Host: 'api.test.x' } }],
  ],
  [
    'host ends',
    on('host', ['.example.net'], { match: 'ends' }),
    [{ headers: { Host: 'a.EXAMPLE.net' } }, { headers: { Host: 'a.example.net.' } }],
    [{}],
  ],
  [
    'path regex with a repeated group',
    on('path', ['^/(a|b)*/x$', '^/(?:c|d)+/x'], { match: 'regex' }),
    [{ path: '/ab/x' }, { path: '/cd/x' }, { path: `/${'c'.repeat(500)}/x` }],
    [{ path: '/ab/y' }, { path: `/e${'a'.repeat(5000)}` }],
  ],
  ['host regex', on('host', ['^shop[0-9]+\\.'], { match: 'regex' }), [{ headers: { Host: 'SHOP12.x' } }], [{}]],
  [
    'host regex in any case',
    on('host', ['^A\\S+\\.X$'], { match: 'regex' }),
    [{ headers: { Host: 'ab.x:80' } }, { headers: { Host: 'AB.X' } }],
    [{ headers: { Host: 'a.x' } }],
  ],
  ['host of IPv6', on('host', ['[2001:DB8::1]']), [{ headers: { Host: '[2001:db8::1]:80' } }], [{}]],
  ['method', on('method', ['DELETE', 'PUT']), [{ method: 'PUT' }], [{ method: 'POST' }]],
  [
    'header is',
    on('header', ['a, b'], { name: 'X-A' }),
    [{ headers: { 'x-a': 'a, b' } }],
    [{ headers: { 'x-a': 'a' } }],
  ],
  ['header is there', on('header', [], { name: 'X-A' }), [{ headers: { 'X-A': 'y' } }], [{}]],
  ['header is not there', on('header', [], { name: 'X-A', negate: true }), [{}], [{ headers: { 'X-A': 'y' } }]],
  [
    'header contains',
    on('header', ['curl'], { name: 'User-Agent', match: 'contains' }),
    [{ headers: { 'User-Agent': 'x curl/8' } }],
    [{}],
  ],
  [
    'cookie is',
    on('cookie', ['new'], { name: 'canary' }),
    [{ headers: { Cookie: 'a=1; canary=new' } }],
    [{ headers: { Cookie: 'canary=newer' } }],
  ],
  [
    'query is',
    on('query', ['a b'], { name: 'q' }),
    [{ path: '/?x=1&q=a%20b' }, { path: '/?q=a+b' }],
    [{ path: '/?q=a' }, { path: '/q=a%20b' }],
  ],
  [
    'header is empty or has the next listed value',
    on('header', ['', 'b'], { name: 'X-A' }),
    [{ headers: { 'X-A': '' } }, { headers: { 'X-A': 'b' } }],
    [{}, { headers: { 'X-A': 'c' } }],
  ],
  [
    'cookie is empty',
    on('cookie', [''], { name: 'c' }),
    [{ headers: { Cookie: 'c=; d=1' } }, { headers: { Cookie: 'd=1; c=' } }, { headers: { Cookie: 'c=' } }],
    [{ headers: { Cookie: 'c=1' } }, { headers: { Cookie: 'cc=' } }, {}],
  ],
  [
    'cookie is there',
    on('cookie', [], { name: 'c' }),
    [{ headers: { Cookie: 'c=1' } }, { headers: { Cookie: 'c=' } }, { headers: { Cookie: 'd=1;c=; e=2' } }],
    [{ headers: { Cookie: 'd=c; cc=' } }, {}],
  ],
  [
    'query is empty',
    on('query', [''], { name: 'q' }),
    [{ path: '/?q=' }, { path: '/?q' }, { path: '/?a&q&b' }],
    [{ path: '/?q=1' }, { path: '/?qq' }, { path: '/q' }, {}],
  ],
  [
    'query is there',
    on('query', [], { name: 'q' }),
    [{ path: '/?q=' }, { path: '/?q=1' }, { path: '/?q' }, { path: '/?q&a' }, { path: '/?a=1;q;b' }],
    [{ path: '/?qq' }, { path: '/?a=q' }, { path: '/?Q' }, {}],
  ],
  ['query is not there', on('query', [], { name: 'q.x', negate: true }), [{ path: '/?qax' }], [{ path: '/?q.x' }]],
  ['source in', on('source', ['10.0.0.0/8', '127.0.0.0/8'], { match: 'in' }), [{}], []],
  ['source is not in', on('source', ['127.0.0.0/8', '::1'], { match: 'in', negate: true }), [], [{}]],
  [
    'many values',
    on(
      'path',
      Array.from({ length: 1000 }, (_, at) => `/${at}`),
    ),
    [{ path: '/0' }, { path: '/999' }],
    [{ path: '/1000' }],
  ],
  [
    'all',
    all(path('/api'), { type: 'method', values: ['POST'] }, path('/api/old', { negate: true })),
    [{ path: '/api/x', method: 'POST' }],
    [{ path: '/api/x' }, { path: '/api/old', method: 'POST' }, { method: 'POST' }],
  ],
  ['any', any(path('/a'), path('/b', { negate: true })), [{ path: '/a' }, { path: '/c' }], [{ path: '/b' }]],
]

const seen = (answered: Answered) => answered.arrived

/** The effect of each list of rules on a request. */
const ACTIONS: readonly (readonly [name: string, rules: readonly Rule[], asked: Asked, found: object])[] = [
  ['nothing holds', [rule(on('path', ['/x']))], {}, { status: 200, arrived: { at: 'web' } }],
  ['a backend without a condition', [rule(undefined)], {}, { arrived: { at: 'api' } }],
  [
    'the first backend counts',
    [rule(on('path', ['/'])), rule(undefined, { type: 'deny' })],
    {},
    { arrived: { at: 'api' } },
  ],
  [
    'an earlier rule takes precedence',
    [rule(undefined, { type: 'deny', status: 410 }), rule(undefined)],
    {},
    { status: 410 },
  ],
  [
    'a disabled backend',
    [rule(undefined, { type: 'backend', backendId: 'off' })],
    {},
    { status: 503, arrived: undefined },
  ],
  ['deny', [rule(on('path', ['/x']), { type: 'deny' })], { path: '/x' }, { status: 403, arrived: undefined }],
  [
    'a redirect',
    [rule(undefined, { type: 'redirect', to: '/new' })],
    {},
    { status: 302, headers: { location: '/new' } },
  ],
  ...(
    [
      ['{path}/', '//evil.test/a', /^\/evil\.test\/a\/$/],
      ['{path}/', '/\\evil.test', /^\/evil\.test\/$/],
      ['{path}/{query}', '/?evil.test', /^\/evil\.test$/],
      ['/{query}', '/?//evil.test/a//b', /^\/evil\.test\/a\/\/b$/],
      ['/{header.X-None}{path}', '/evil.test', /^\/evil\.test$/],
      ['{path}?to={query}', '/a//b?//c', /^\/a\/\/b\?to=\/\/c$/],
    ] as const
  ).map(
    ([to, asked, location]) =>
      [
        `a redirect to ${to} stays on the host: ${asked}`,
        [rule(undefined, { type: 'redirect', to })],
        { path: asked },
        { status: 302, headers: { location } },
      ] as const,
  ),
  [
    'a redirect that is filled',
    [rule(undefined, { type: 'redirect', to: "https://{host}{path}?{query}&from=100%25&it's=\\1", status: 308 })],
    { path: '/a%20b?c=d' },
    { status: 308, headers: { location: "https://www.example.org/a%20b?c=d&from=100%25&it's=\\1" } },
  ],
  [
    'respond',
    [
      rule(undefined, {
        type: 'respond',
        status: 418,
        contentType: 'text/html; charset=utf-8',
        body: `<p>it's "100 %"\r\n\t\\n $HOME %[src] é\u001b\u0001`,
      }),
    ],
    {},
    {
      status: 418,
      headers: { 'content-type': 'text/html; charset=utf-8' },
      body: `<p>it's "100 %"\r\n\t\\n $HOME %[src] é\u001b\u0001`,
    },
  ],
  ['respond without a body', [rule(undefined, { type: 'respond', status: 204 })], {}, { status: 204, body: '' }],
  [
    'headers',
    [
      rule(undefined, { type: 'setHeader', name: 'X-A', value: 'new' }),
      rule(undefined, { type: 'addHeader', name: 'X-B', value: 'two' }),
      rule(undefined, { type: 'removeHeader', name: 'X-C' }),
    ],
    { headers: { 'X-A': 'old', 'X-B': 'one', 'X-C': 'gone' } },
    { arrived: { headers: { 'x-a': 'new', 'x-b': 'one, two', 'x-c': undefined } } },
  ],
  [
    'headers that are filled',
    [
      rule(undefined, { type: 'setVariable', name: 'who', value: '{header.X-User}@{source}' }),
      rule(undefined, {
        type: 'setHeader',
        name: 'X-A',
        value: `{method} {variable.who} {cookie.c} 5% \\ " ' # {"a":1} {b c}`,
      }),
    ],
    { headers: { 'X-User': 'ann', Cookie: 'c=7' } },
    { arrived: { headers: { 'x-a': `GET ann@127.0.0.1 7 5% \\ " ' # {"a":1} {b c}` } } },
  ],
  [
    'a path that begins',
    [rule(undefined, { type: 'rewritePath', value: '/a.b/', to: '/x/' })],
    { path: '/a.b/c?d=1' },
    { arrived: { path: '/x/c?d=1' } },
  ],
  [
    'a path that does not',
    [rule(undefined, { type: 'rewritePath', value: '/a.b/', to: '/x/' })],
    { path: '/aXb/c' },
    { arrived: { path: '/aXb/c' } },
  ],
  [
    'a path that is another one after it was rewritten',
    [rule(on('path', ['/admin']), { type: 'deny' }), rule(undefined, { type: 'rewritePath', value: '/a', to: '/b/' })],
    { path: '/a../admin' },
    { status: 400, arrived: undefined },
  ],
  [
    'a path by a regular expression',
    [rule(undefined, { type: 'rewritePath', match: 'regex', value: '^/(\\w+)/(.*)$', to: '/\\2/{method}/\\1%20' })],
    { path: '/a/b' },
    { arrived: { path: '/b/GET/a%20' } },
  ],
  [
    'a path that is filled with what reads like an escape',
    [rule(undefined, { type: 'rewritePath', value: '/a', to: '/b{path}/{query}&' })],
    { path: `/a\\x20HTTP/1.1\\x0d\\x0aX-Evil:\\1?c\\x0d\\x0aX-Worse:\\` },
    {
      arrived: {
        path: '/b/a%5Cx20HTTP/1.1%5Cx0d%5Cx0aX-Evil:%5C1/c%5Cx0d%5Cx0aX-Worse:%5C&\\x20HTTP/1.1\\x0d\\x0aX-Evil:\\1?c\\x0d\\x0aX-Worse:\\',
        headers: { 'x-evil': undefined, 'x-worse': undefined },
      },
    },
  ],
  [
    'a path by a regular expression that is filled with what reads like an escape',
    [rule(undefined, { type: 'rewritePath', match: 'regex', value: '^/a', to: '/\\\\{query}' })],
    { path: `/a?x20HTTP/1.1\\x0d\\x0aX-Evil:` },
    {
      arrived: {
        path: '/\\x20HTTP/1.1%5Cx0d%5Cx0aX-Evil:?x20HTTP/1.1\\x0d\\x0aX-Evil:',
        headers: { 'x-evil': undefined },
      },
    },
  ],
  ...['/?%71z_1=a', '/?x=1&q%7a_1=a+b&y', '/?q%7A%5f1', '/?qz_1=b&qz%5F1=a', '/?x=1;%71z_1=a', '/?qz_1=a%20b%00'].map(
    (asked) =>
      [
        `a query parameter in another spelling: ${asked}`,
        [rule(on('query', ['a b'], { name: 'qz_1' }), { type: 'deny', status: 410 })],
        { path: asked },
        { status: 400, arrived: undefined },
      ] as const,
  ),
  [
    'query parameters that are others, or the same spelling several times',
    [rule(on('query', ['a b'], { name: 'qz_1' }), { type: 'deny', status: 410 })],
    { path: '/?qz_1=%71z_1=&qz_1&qz_1=%26%71z_1=1&z%71z_1=1&qz%2D1&%51z_1&qz_1[%5D=' },
    { status: 200 },
  ],
  ...[
    ['/x/..;y/admin', rule(on('path', ['/admin']))] as const,
    ['/admin%00x', rule(on('path', ['/admin']))] as const,
    ['/admin%00x', rule(all({ type: 'path', values: ['/admin'] }, { type: 'method', values: ['GET'] }))] as const,
  ].map(
    ([asked, where]) =>
      [
        `a path that servers may read as another one: ${asked}`,
        [where],
        { path: asked },
        { status: 400, arrived: undefined },
      ] as const,
  ),
  ...[false, true].map(
    (negate) =>
      [
        `a path that a regular expression cannot be compared with: ${negate ? 'negated' : 'as it is'}`,
        [rule(on('path', ['^/no$', '^/(a|b)*/x$'], { match: 'regex', negate }))],
        { path: `/${'ab'.repeat(2500)}/x` },
        { status: 400, arrived: undefined },
      ] as const,
  ),
  [
    'a host that a regular expression cannot be compared with',
    [rule(on('host', ['^(A|B)*\\.x$'], { match: 'regex' }), { type: 'deny' })],
    { headers: { Host: `${'ab'.repeat(2500)}.x` } },
    { status: 400, arrived: undefined },
  ],
  [
    'later rules see the new path',
    [rule(undefined, { type: 'rewritePath', value: '/a', to: '/b' }), rule(on('path', ['/b']))],
    { path: '/a' },
    { arrived: { at: 'api', path: '/b' } },
  ],
  [
    'a limit of nothing',
    [rule(undefined, { type: 'limit', per: 'source', rate: 0, over: 60 })],
    {},
    { status: 429, headers: { 'retry-after': '60' } },
  ],
  [
    'a limit in each of eight ways',
    [
      {
        when: { any: Array.from({ length: 8 }, (_, at) => path(`/${at}`)) },
        do: { type: 'limit', per: 'source', rate: 0, over: 60 },
      },
    ],
    { path: '/7' },
    { status: 429 },
  ],
  [
    'a limit that is not reached',
    [rule(undefined, { type: 'limit', per: 'path', rate: 1, over: 60 })],
    {},
    { status: 200 },
  ],
  ['a limit of others', [rule(on('path', ['/x']), { type: 'limit', per: 'source', rate: 0 })], {}, { status: 200 }],
]

/** Answers of the backend with its own rules. */
const RESPONSES: readonly (readonly [name: string, rules: readonly Rule[], asked: Asked, found: object])[] = [
  [
    'headers',
    [
      rule(undefined, { type: 'setHeader', name: 'X-Frame-Options', value: 'DENY' }),
      rule(undefined, { type: 'removeHeader', name: 'X-Powered-By' }),
      rule(on('header', ['origin'], { name: 'Server' }), { type: 'setHeader', name: 'Server', value: '5% {source}' }),
    ],
    {},
    { headers: { 'x-frame-options': 'DENY', 'x-powered-by': undefined, server: '5% 127.0.0.1' } },
  ],
  [
    'by status',
    [rule(on('status', ['404', '500-599']), { type: 'addHeader', name: 'X-Broken', value: 'yes' })],
    { headers: { 'X-Status': '502' } },
    { status: 502, headers: { 'x-broken': 'yes' } },
  ],
  [
    'not by another status',
    [rule(on('status', ['404', '500-599']), { type: 'addHeader', name: 'X-Broken', value: 'yes' })],
    { headers: { 'X-Status': '499' } },
    { status: 499, headers: { 'x-broken': undefined } },
  ],
]

t.test('rules', async (test) => {
  const { apply } = haproxyFixture(test)
  const [web, api] = [await origin(test, 'web'), await origin(test, 'api')]
  const [l7Frontends, l7Backends] = [
    [] as ReturnType<typeof frontend>[],
    [backend('web', ['web']), backend('api', ['api']), backend('off', ['web'], { enabled: false })],
  ]
  const served = async (rules: readonly Rule[], backendId = 'web') => {
    const port = await freePort()
    const made = frontend(`f${l7Frontends.length}`, backendId, { ports: String(port), rules: [...rules] })
    test.same(frontendRuleProblems(made), [])
    l7Frontends.push(made)
    return port
  }
  const conditions: number[] = []
  for (const [, when] of CONDITIONS) conditions.push(await served([rule(when)]))
  const actions: number[] = []
  for (const [, rules] of ACTIONS) actions.push(await served(rules))
  const responses: number[] = []
  for (const [at, [, rules]] of RESPONSES.entries()) {
    const made = backend(`r${at}`, ['web'], { rules: [...rules] })
    test.same(backendRuleProblems(made), [])
    l7Backends.push(made)
    responses.push(await served([], `r${at}`))
  }
  const realServers = [
    realServer('web', { ip: '127.0.0.1', port: web }),
    realServer('api', { ip: '127.0.0.1', port: api }),
  ]
  const view = viewOf({ realServers, l7Frontends, l7Backends })
  test.match(await apply(undefined, view), { ok: true })

  for (const [at, [name, , fits, others]] of CONDITIONS.entries()) {
    await test.test(`condition: ${name}`, async (one) => {
      for (const asked of fits)
        one.match(seen(await ask(conditions[at] ?? 0, asked)), { at: 'api' }, JSON.stringify(asked))
      for (const asked of others)
        one.match(seen(await ask(conditions[at] ?? 0, asked)), { at: 'web' }, JSON.stringify(asked))
    })
  }
  for (const [kind, rows, ports] of [
    ['action', ACTIONS, actions],
    ['response', RESPONSES, responses],
  ] as const)
    for (const [at, [name, , asked, found]] of rows.entries())
      await test.test(`${kind}: ${name}`, async (one) => {
        one.match(await ask(ports[at] ?? 0, asked), found)
      })
})

t.test('a rule overlooks no host that only the request line names, and takes no part for the host', async (test) => {
  const { apply } = haproxyFixture(test)
  const port = await freePort()
  const rules = [
    rule(on('host', ['closed.test']), { type: 'deny' }),
    rule(on('host', ['^shut\\.test$'], { match: 'regex' }), { type: 'deny' }),
  ]
  const l7Frontends = [frontend('f', 'web', { ports: `${port}`, rules })]
  const realServers = [realServer('web', { ip: '127.0.0.1', port: await origin(test, 'web') })]
  test.match(await apply(undefined, viewOf({ realServers, l7Frontends, l7Backends: [backend('web', ['web'])] })), {
    ok: true,
  })
  const status = async (...lines: readonly string[]) => {
    const socket = connect(port, '127.0.0.1')
    socket.write(`${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`)
    return Number((await text(socket)).slice(9, 12))
  }
  test.equal(await status('GET http://closed.test/ HTTP/1.0'), 400)
  test.equal(await status('GET http://closed.test/ HTTP/1.0', 'Host:'), 400)
  test.equal(await status('GET http://closed.test/ HTTP/1.1', 'Host: closed.test'), 403)
  test.equal(await status('GET http://open.test/ HTTP/1.1', 'Host: open.test'), 200)
  test.equal(await status('GET /?to=http://closed.test/ HTTP/1.0'), 200, 'a client without a host')
  test.equal(await status('OPTIONS * HTTP/1.0'), 200)
  test.equal(await status('GET / HTTP/1.1', 'Host: shut.test:80'), 403)
  for (const host of ['x.test,closed.test', 'closed.test,x.test', 'x.test,shut.test', 'shut.test,x.test']) {
    // HAProxy 3.0 refuses a host with a comma.
    const answered = await status('GET / HTTP/1.1', `Host: ${host}`)
    test.ok(answered === 200 || answered === 400, `no part of ${host} is the host: ${answered}`)
  }
})

t.test('no request escapes the rules by an upgrade to HTTP/2 without TLS', async (test) => {
  const { apply } = haproxyFixture(test)
  const server = createHttpServer((_, answer) => void answer.end('as HTTP/1.1')).listen(0, '127.0.0.1')
  server.on('upgrade', ({ headers: { upgrade } }, socket) => {
    const accept = 'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo='
    const switched = ['101 Switching Protocols', 'Connection: Upgrade', `Upgrade: ${upgrade}`, accept]
    // HAProxy 3.0 itself leaves only the other names.
    const lines = upgrade === 'other' ? ['200 OK', 'Content-Length: 0'] : switched
    socket.end(`HTTP/1.1 ${lines.join('\r\n')}\r\n\r\n`)
  })
  await once(server, 'listening')
  test.teardown(() => server.close().closeAllConnections())
  const port = await freePort()
  const l7Frontends = [frontend('f', 'web', { ports: `${port}`, rules: [rule(on('path', ['/x']), { type: 'deny' })] })]
  const realServers = [realServer('web', { ip: '127.0.0.1', port: (server.address() as AddressInfo).port })]
  test.match(await apply(undefined, viewOf({ realServers, l7Frontends, l7Backends: [backend('web', ['web'])] })), {
    ok: true,
  })
  const answer = async (upgrade: string, ...lines: readonly string[]) => {
    const socket = connect(port, '127.0.0.1')
    const head = ['GET / HTTP/1.1', 'Host: a.test', `Upgrade: ${upgrade}`, ...lines]
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    const [begun] = await once(socket, 'data')
    socket.destroy()
    return Number(String(begun).slice(9, 12))
  }
  const settings = ['Connection: Upgrade, HTTP2-Settings', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA']
  test.equal(await answer('h2c', ...settings), 200)
  test.equal(await answer('H2C, other', ...settings), 200)
  const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='
  test.equal(await answer('websocket', 'Connection: Upgrade', key), 101)
})

t.test('limits count by their key, and keep their counts over a reload', async (test) => {
  const { apply, ask: command } = haproxyFixture(test)
  const realServers = [realServer('web', { ip: '127.0.0.1', port: await origin(test, 'web') })]
  const limit = (more: Partial<Action>): Rule => ({ do: { type: 'limit', rate: 1, over: 3600, burst: 1, ...more } })
  const [bySource, byHeader, byPath] = [await freePort(), await freePort(), await freePort()]
  const site = (timeoutClient: number) =>
    viewOf({
      realServers,
      l7Backends: [backend('web', ['web'])],
      l7Frontends: [
        frontend('s', 'web', { ports: `${bySource}`, timeoutClient, rules: [limit({ per: 'source', answer: 503 })] }),
        frontend('h', 'web', { ports: `${byHeader}`, rules: [limit({ per: 'header', name: 'X-Key' })] }),
        frontend('p', 'web', { ports: `${byPath}`, rules: [limit({ per: 'path' })] }),
      ],
    })
  test.match(await apply(undefined, site(30)), { ok: true })
  const statuses = async (port: number, requests: readonly Asked[]) => {
    const found: number[] = []
    for (const asked of requests) found.push((await ask(port, asked)).status)
    return found
  }
  const key = (value: string): Asked => ({ headers: { 'X-Key': value } })
  test.same(await statuses(bySource, [{}, { path: '/b' }, {}, {}]), [200, 200, 503, 503])
  test.same(
    await statuses(byHeader, [key('a'), key('a'), key('a'), key('b'), {}, {}, {}]),
    [200, 200, 429, 200, 200, 200, 200],
  )
  // The tokens of one issuer begin alike.
  const [ann, ben] = ['ann', 'ben'].map((name) => key(`Bearer ${'x'.repeat(500)}${name}`))
  test.same(await statuses(byHeader, [ann ?? {}, ann ?? {}, ann ?? {}, ben ?? {}]), [200, 200, 429, 200])
  test.same(await statuses(byPath, [{ path: '/a' }, { path: '/a?x' }, { path: '/a' }, {}]), [200, 200, 429, 200])
  // As for conditions, these are the same path.
  test.same(await statuses(byPath, [{ path: '/%61' }, { path: '//a' }, { path: '/a%20' }]), [429, 429, 200])
  test.same(await statuses(byPath, [{ path: '/./a' }, { path: '/x/../a' }, { path: '/a%zz' }]), [400, 400, 400])
  // A HAProxy that started without peers gives up learning after some seconds; only then does it teach.
  const isReady = async () =>
    (Number(/id=fulcrum_peers .*flags=(0x[\da-f]+)/.exec(await command('@1 show peers'))?.[1]) & 3) === 3
  await until('a HAProxy that teaches', isReady)
  test.match(await apply(site(30), site(31)), { ok: true })
  const [table = ''] = limitsOf({ id: 's', rules: [limit({ per: 'source', answer: 503 })] }).map(({ name }) => name)
  await until('an entry of the table', async () => (await command(`@1 show table ${table}`)).includes('key='))
  test.same(await statuses(bySource, [{}]), [503])
})

t.test('a limit admits its rate to those who ask for more, and answers with the page of the frontend', async (test) => {
  const { apply } = haproxyFixture(test)
  const ports = String(await freePort())
  const page = '<h1>Slow down'
  const rules: Rule[] = [{ do: { type: 'limit', per: 'source', rate: 2, over: 1 } }]
  const l7Frontends = [frontend('f', 'web', { ports, rules, errorPages: [{ status: 429, page }] })]
  const realServers = [realServer('web', { ip: '127.0.0.1', port: await origin(test, 'web') })]
  test.match(await apply(undefined, viewOf({ realServers, l7Frontends, l7Backends: [backend('web', ['web'])] })), {
    ok: true,
  })
  const refused = async () =>
    await until(
      'a refusal',
      () => ask(Number(ports), {}),
      ({ status }) => status === 429,
    )
  const headers = { 'retry-after': '1', 'content-type': 'text/html; charset=utf-8' }
  test.match(await refused(), { body: page, headers })
  // More than two requests a second all the time, and still two of them are admitted.
  for (let admitted = 0; admitted < 4; admitted++)
    await until(
      'a request that is admitted',
      () => ask(Number(ports), {}),
      ({ status }) => status === 200,
      10_000,
    )
})

t.test('tcp: by the server name of TLS, and by the address', async (test) => {
  const { apply, ask: command } = haproxyFixture(test)
  const { pair } = certificateMaker(test)
  const tls = async (at: string) => {
    const server = createTlsServer(pair({ name: at }), (socket) => void socket.end(at))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    test.teardown(() => server.close())
    return realServer(at, { ip: '127.0.0.1', port: (server.address() as AddressInfo).port })
  }
  const plain = createServer((socket) => void socket.end('plain'))
  await once(plain.listen(0, '127.0.0.1'), 'listening')
  test.teardown(() => plain.close())
  const realServers = [
    await tls('one'),
    await tls('two'),
    realServer('plain', { ip: '127.0.0.1', port: (plain.address() as AddressInfo).port }),
  ]
  const [named, closed, exact, mixed] = [await freePort(), await freePort(), await freePort(), await freePort()]
  const mode = 'tcp' as const
  const l7Backends = [
    backend('one', ['one'], { mode }),
    backend('two', ['two'], { mode }),
    backend('plain', ['plain'], { mode }),
  ]
  const to = (backendId: string): Action => ({ type: 'backend', backendId })
  const view = viewOf({
    realServers,
    l7Backends,
    l7Frontends: [
      frontend('named', 'one', {
        mode,
        ports: `${named}`,
        rules: [rule(on('sni', ['.Two.test'], { match: 'ends' }), to('two'))],
      }),
      frontend('closed', 'one', {
        mode,
        ports: `${closed}`,
        rules: [rule(on('source', ['127.0.0.0/8'], { match: 'in' }), { type: 'deny' })],
      }),
      frontend('exact', 'one', {
        mode,
        ports: `${exact}`,
        rules: [rule(on('sni', ['WWW.two.test']), to('two')), rule(on('sni', ['bad.test']), { type: 'deny' })],
      }),
      frontend('mixed', 'plain', { mode, ports: `${mixed}`, rules: [rule(on('sni', ['www.two.test']), to('two'))] }),
    ],
  })
  test.match(await apply(undefined, view), { ok: true })
  const heard = async (port: number, servername: string) => {
    const socket = connectTls({ host: '127.0.0.1', port, servername, rejectUnauthorized: false })
    return await text(socket).catch(() => '')
  }
  test.equal(await heard(named, 'www.two.test'), 'two')
  test.equal(await heard(named, 'www.one.test'), 'one')
  test.equal(await heard(closed, 'www.one.test'), '')

  /** Sends nothing before HAProxy has inspected the connection. */
  const heardLate = async (port: number, id: string, servername?: string) => {
    const connection = connect(port, '127.0.0.1')
    const isServed = async () => (await command('@1 show sess')).includes(` fe=${id} `)
    await until('its session', isServed)
    const name = servername === undefined ? {} : { servername }
    return await text(connectTls({ socket: connection, ...name, rejectUnauthorized: false })).catch(() => '')
  }
  for (const [said, name, by] of [
    ['two', 'www.two.test', 'its name'],
    ['one', 'www.one.test', 'another name'],
    ['', 'bad.test', 'a name that is refused'],
    ['one', undefined, 'no name'],
  ] as const)
    test.equal(await heardLate(exact, 'exact', name), said, `late, by ${by}`)
  test.equal(await heardLate(mixed, 'mixed', 'www.two.test'), 'two')
  const other = connect(mixed, '127.0.0.1')
  other.write('no TLS\n')
  test.equal(await text(other), 'plain', 'a connection without TLS has no name')
})
