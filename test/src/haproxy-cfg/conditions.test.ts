import t from 'tap'
import { alternativesOf, conditionOf } from '../../../src/haproxy-cfg/conditions.ts'

const words = (text: string) => text.split(' ')

t.test('fetches become conditions', (test) => {
  const cases: readonly (readonly [string, object])[] = [
    ['path /a', { type: 'path', values: ['/a'] }],
    ['path_beg /a /b', { type: 'path', match: 'begins', values: ['/a', '/b'] }],
    ['path -m end .css', { type: 'path', match: 'ends', values: ['.css'] }],
    ['path_beg -i /Adm.n', { type: 'path', match: 'regex', values: ['(?i)^/Adm\\.n'] }],
    ['path_reg -i ^/x', { type: 'path', match: 'regex', values: ['(?i)^/x'] }],
    ['hdr(host) -i A.example.org:8080', { type: 'host', values: ['a.example.org'] }],
    ['hdr(host) a.example.org.', { type: 'host', values: ['a.example.org'] }],
    ['hdr_end(host) .example.org', { type: 'host', match: 'ends', values: ['.example.org'] }],
    [
      'hdr_reg(host) -i ^\\S+\\.A\\.org(:\\d+)?$',
      { type: 'host', match: 'regex', values: ['^\\S+\\.A\\.org(:\\d+)?$'] },
    ],
    ['req.hdr(X-A) b', { type: 'header', name: 'X-A', values: ['b'] }],
    // One of several values, as sent by browsers: "keep-alive, Upgrade".
    [
      'hdr(Connection) -i upgrade',
      { type: 'header', name: 'Connection', match: 'regex', values: ['(?i)(?:^|,)\\s*upgrade\\s*(?:,|$)'] },
    ],
    [
      'hdr_beg(X-Forwarded-For) 10.',
      { type: 'header', name: 'X-Forwarded-For', match: 'regex', values: ['(?:^|,)\\s*10\\.'] },
    ],
    ['hdr_end(Accept) json', { type: 'header', name: 'Accept', match: 'regex', values: ['json\\s*(?:,|$)'] }],
    ['hdr_sub(Accept) json', { type: 'header', name: 'Accept', match: 'contains', values: ['json'] }],
    ['hdr(Upgrade) -m found', { type: 'header', name: 'Upgrade', values: [] }],
    ['cook(connection) b', { type: 'cookie', name: 'connection', values: ['b'] }],
    ['cook(sid) -m beg x', { type: 'cookie', name: 'sid', match: 'begins', values: ['x'] }],
    ['url_param(q) 1', { type: 'query', name: 'q', values: ['1'] }],
    ['src 10.0.0.0/8 ::1', { type: 'source', match: 'in', values: ['10.0.0.0/8', '::1'] }],
    ['method POST', { type: 'method', values: ['POST'] }],
    ['req.ssl_sni -i a.test', { type: 'sni', values: ['a.test'] }],
  ]
  for (const [text, condition] of cases) test.same(conditionOf(words(text)), condition, text)
  for (const pattern of ['^a[^:]+(?::\\d+)?$', '^(?:a|b)(:80|:443)?$', '[[:alnum:]]:?'])
    test.match(conditionOf(words(`hdr_reg(host) ${pattern}`)), { values: [pattern] })
  test.match(conditionOf(words('path_sub 100%')), { values: ['100%'] })
  for (const text of [
    'path',
    // Rules look at the decoded path, the host without its port, and the rest as HAProxy would never see it.
    'path_beg /a%20b',
    'path_reg ^/a%2Fb',
    'path_sub //',
    'url_param(a) b%20c',
    'hdr_end(host) :8080',
    'hdr_reg(host) ^(www\\.)?a\\.org:(8080|8443)$',
    'hdr(host) *.example.org',
    'req.ssl_sni *.example.org',
    'hdr_sub(a) ',
    // A plan refuses the whole document because of these.
    'path a',
    'path_reg ^/(a+)+$',
    'src 10.0.0.0/255.0.0.0',
    'src localhost',
    'method FOO*',
    'ssl_fc',
    'hdr(a),lower b',
    'path -f /file',
    'path -m int 7',
    'nbsrv(x) lt 1',
    'hdr(host) -m found',
    'path_dir a',
    'hdr_dom(host) a',
    'path -m found',
    'hdr_reg(host) ^a:80$',
    'constructor a',
    'hdr(a) -m constructor b',
  ])
    test.throws(
      () => conditionOf(words(text)),
      { message: /counterpart|no value|match nothing|regular expression/ },
      text,
    )
  test.end()
})

t.test('expressions after if become alternatives', (test) => {
  const path = (value: string, negate = false) => ({ type: 'path', values: [value], ...(negate ? { negate } : {}) })
  const acls = new Map([
    ['a', [path('/a')]],
    ['b', [path('/b')]],
    ['ab', [path('/a'), path('/b')]],
  ])
  const of = (text: string) => alternativesOf(text === '' ? [] : words(text), acls)
  test.same(of(''), [[]])
  test.same(of('if a b'), [[path('/a'), path('/b')]])
  test.same(of('if a || b'), [[path('/a')], [path('/b')]])
  test.same(of('if a or !b'), [[path('/a')], [path('/b', true)]])
  test.same(of('if ab'), [[path('/a')], [path('/b')]], 'lines of one name')
  test.same(of('if !ab'), [[path('/a', true), path('/b', true)]], 'none of them')
  test.same(of('if ab { method POST }').length, 2)
  test.same(of('if ! { path /c }'), [[path('/c', true)]])
  const many = new Map([['x', Array.from({ length: 20 }, () => path('/a'))]])
  test.throws(() => alternativesOf(words('if x x x x x x x x'), many), /too many/, 'before they are created')
  test.same(of('unless a'), [[path('/a', true)]])
  test.same(of('if METH_POST'), [[{ type: 'method', values: ['POST'] }]])
  for (const wrong of ['if nope', 'if a ||', 'if { path /a', 'unless a b', 'when a', 'if'])
    test.throws(() => of(wrong), wrong)
  test.end()
})
