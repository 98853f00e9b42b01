import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { importHaproxyCfg, type Imported } from '../../../src/haproxy-cfg/import.ts'
import { linesOf } from '../../../src/haproxy-cfg/lines.ts'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

const SITE = `global
  daemon
  nbthread 2
defaults
  mode http
  timeout connect 5000
  timeout client 50s
  timeout server 1500ms
  option http-server-close
frontend www
  bind *:8180
  bind 127.0.0.1:8443 ssl crt /etc/ssl/shop.pem alpn h2,http/1.1 ssl-min-ver TLSv1.3
  option forwardfor
  maxconn 2000
  acl office src 10.0.0.0/8
  acl admin path_beg /admin
  http-request deny deny_status 404 if admin !office
  http-request set-header X-Site shop
  http-request set-header X-Proto https if { ssl_fc }
  redirect location https://new.test/ code 301 if { path /old }
  use_backend %[req.hdr(x)]
  use_backend api if { path_beg /api } or { hdr(host) -i api.test }
  default_backend shop
backend shop
  balance leastconn
  cookie SRV insert indirect nocache
  option httpchk GET /healthz HTTP/1.1\\r\\nHost:\\ shop.test
  http-check expect rstatus ^2
  http-response del-header Server
  default-server inter 4s
  server web1 10.0.0.11:8080 check weight 20 maxconn 9
  server web2 10.0.0.12:8080 check backup ssl verify required sni str(web.test)
  server web3 10.0.0.13:8080 disabled check
backend api
  server web1 10.0.0.21:9000
  server web2 10.0.0.12:8080 send-proxy-v2
listen db
  bind 10.0.0.5:3306-3307
  mode tcp
  stick-table type ip size 200k expire 30m
  stick on src
  fullconn 100
  server db1 [2001:db8::1]:3306 check
listen stats
  bind :8404
  stats enable
`

t.test('a site is read', async (test) => {
  const { document, certificates, notUnderstood, remarks } = await importHaproxyCfg(SITE)
  const asked = { timeoutConnect: 5, timeoutServer: 2 }
  test.same(document, {
    version: 1,
    realServers: {
      web1: { ip: '10.0.0.11', port: 8080 },
      web2: { ip: '10.0.0.12', port: 8080 },
      web3: { ip: '10.0.0.13', port: 8080, state: 'halted' },
      'api-web1': { ip: '10.0.0.21', port: 9000 },
      db1: { ip: '2001:db8::1', port: 3306 },
    },
    l7Backends: {
      shop: {
        mode: 'http',
        ...asked,
        balance: 'leastconn',
        persistence: { type: 'cookie', cookieName: 'SRV' },
        healthCheck: { type: 'http', path: '/healthz', host: 'shop.test', expect: '200-299', interval: 4 },
        rules: [{ do: { type: 'removeHeader', name: 'Server' } }],
        reals: [
          { ripId: 'web1', weight: 20, maxConn: 9 },
          { ripId: 'web2', weight: 1, backup: true, encrypted: true, verify: true, sni: 'web.test' },
          { ripId: 'web3', weight: 1 },
        ],
      },
      api: {
        mode: 'http',
        ...asked,
        healthCheck: { type: 'none' },
        reals: [{ ripId: 'api-web1' }, { ripId: 'web2', sendProxy: true }],
      },
      db: {
        mode: 'tcp',
        ...asked,
        persistence: { type: 'ip', timeout: 1800 },
        healthCheck: { type: 'tcp' },
        reals: [{ ripId: 'db1' }],
      },
    },
    l7Frontends: {
      www: { ...www({ ip: '0.0.0.0', ports: '8180' }) },
      'www-2': www({ ip: '127.0.0.1', ports: '8443', alpn: ['h2', 'http/1.1'], minTls: '1.3', certificates: ['shop'] }),
      db: { mode: 'tcp', ip: '10.0.0.5', ports: '3306-3307', timeoutClient: 50, defaultBackendId: 'db' },
    },
    l7Raw: {
      global: ['nbthread 2'],
      defaults: ['option http-server-close'],
      backends: [{ id: 'db', lines: ['fullconn 100'] }],
    },
  })
  test.same(certificates, [{ name: 'shop', path: '/etc/ssl/shop.pem' }])
  test.same(
    notUnderstood.map(({ text }) => text),
    ['http-request set-header X-Proto https if { ssl_fc }', 'use_backend %[req.hdr(x)]'],
  )
  test.same(
    remarks.map(({ text }) => text),
    [
      'daemon',
      'timeout server 1500ms',
      'option forwardfor',
      'maxconn 2000',
      'acl admin path_beg /admin',
      'use_backend api if { path_beg /api } or { hdr(host) -i api.test }',
      'cookie SRV insert indirect nocache',
      'bind :8404',
      'stats enable',
    ],
  )
})

t.test('a timeout of 0, which means none, is reported and becomes no other one', async (test) => {
  const lines = ['timeout client 0', 'timeout server 0s', 'timeout queue 0']
  const text = `listen db\n  bind 10.0.0.5:3306\n  ${lines.join('\n  ')}\n  server a 10.0.0.1:3306\n`
  const { document, notUnderstood } = await importHaproxyCfg(text)
  test.same(
    notUnderstood.map(({ text: line }) => line),
    lines,
  )
  test.notMatch(JSON.stringify(document), /timeout/)
})

function www(more: object): object {
  const path = (value: string, match?: string) => ({
    type: 'path',
    values: [value],
    ...(match === undefined ? {} : { match }),
  })
  return {
    mode: 'http',
    ...more,
    timeoutClient: 50,
    forwardFor: true,
    maxConn: 2000,
    defaultBackendId: 'shop',
    rules: [
      {
        when: {
          all: [path('/admin', 'begins'), { type: 'source', match: 'in', values: ['10.0.0.0/8'], negate: true }],
        },
        do: { type: 'deny', status: 404 },
      },
      { do: { type: 'setHeader', name: 'X-Site', value: 'shop' } },
      { when: { all: [path('/old')] }, do: { type: 'redirect', to: 'https://new.test/', status: 301 } },
      { when: { all: [path('/api', 'begins')] }, do: { type: 'backend', backendId: 'api' } },
      { when: { all: [{ type: 'host', values: ['api.test'] }] }, do: { type: 'backend', backendId: 'api' } },
    ],
  }
}

const EXAMPLES = '/usr/share/doc/haproxy/examples'
const HEADS = /^(global|defaults|frontend|backend|listen)$/

/** Whether a part of the line is in the document: its last word, or its translation. */
function accounted(text: string, { notUnderstood, remarks }: Imported): readonly string[] {
  const told = new Set([...notUnderstood, ...remarks].map(({ line }) => line))
  return linesOf(text)
    .filter(({ number, words }) => !HEADS.test(words[0] ?? '') && !told.has(number))
    .map((line) => line.text)
}

t.test('the examples of HAProxy’s own distribution: no line is lost', async (test) => {
  const names = readdirSync(EXAMPLES, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.cfg'))
  test.ok(names.length > 5)
  for (const name of names) {
    const text = readFileSync(join(EXAMPLES, name), 'utf8')
    const all = await importHaproxyCfg(text)
    const document = JSON.stringify(all.document)
    // Every line without a report has changed the document: without the line, it differs. Some repeat defaults, or
    // another line.
    for (const line of accounted(text, all)) {
      const without = text
        .split('\n')
        .filter((one) => one.trim() !== line)
        .join('\n')
      const isIdle = /^(mode |rise 2|fall 3|timeout|balance roundrobin|acl |compression algo|option tcp-check)/.test(
        line,
      )
      if (!isIdle) test.not(JSON.stringify((await importHaproxyCfg(without)).document), document, `${name}: ${line}`)
    }
  }
})

t.test('an import can be planned, with its certificates', async (test) => {
  const { call } = await borrow()
  const cfg = SITE.replace(/ ssl crt.*/, '').replace('127.0.0.1:8443', '127.0.0.2:8181')
  const { json } = await call('POST', '/config/import', { body: { haproxyCfg: cfg, owner: 'moved' } })
  test.match(json.data.document, { owner: 'moved' })
  const plan = await call('POST', '/config/plan', { body: { document: json.data.document } })
  test.equal(plan.status, 200, plan.text)
  const applied = await call('PUT', `/config/plans/${plan.json.data.planId}/apply`)
  test.equal(applied.status, 200, applied.text)
  test.match((await call('POST', '/config/import', { body: { haproxyCfg: '' } })).json, { code: 'INVALID_BODY' })
  const nothing = await call('POST', '/config/import', { body: { haproxyCfg: '\u0000 %$# "' } })
  test.match(nothing.json.data, { document: { version: 1 }, notUnderstood: [{ line: 1 }] })
})

t.test('hostile files cost little, and refused parts leave nothing half done', async (test) => {
  const acls = Array.from({ length: 20 }, (_, at) => ` acl a path /x${at}\n`).join('')
  const many = await importHaproxyCfg(`frontend f\n mode http\n bind *:80\n${acls} use_backend b if a a a a a a a a\n`)
  test.match(many.notUnderstood, [{ why: /too many alternatives/ }])
  test.equal((await importHaproxyCfg(`global\n${' a\n'.repeat(40_000)}`)).notUnderstood.length, 40_000)
  const wide = `defaults\n${' mode http\n'.repeat(2_000)}${Array.from({ length: 2_000 }, (_, at) => `backend b${at}\n`).join('')}`
  test.match((await importHaproxyCfg(wide)).notUnderstood[0], { why: /too many lines of defaults/ })
  for (const word of ['constructor', '__proto__', 'toString'])
    test.match(
      (await importHaproxyCfg(`frontend f\n bind *:80\n ${word} x\nbackend b\n ${word}\n${word}\n`)).notUnderstood
        .length,
      3,
    )
  const half = await importHaproxyCfg(
    'backend b\n server s 10.0.0.1:80 check rise 77 nosuch\n server t 10.0.0.2:80 check',
  )
  test.match(half.document['l7Backends'], { b: { healthCheck: { type: 'tcp' } } })
  test.notOk(JSON.stringify(half.document).includes('77'))
})

const many = (count: number, line: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => line(at)).join('')

t.test('large sections cost as much as their lines, and others have their turn meanwhile', async (test) => {
  let [turns, isOver] = [0, false]
  const count = () => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const rules = many(10_000, (at) => ` acl a${at} path /${at}\n http-request deny if a${at}\n`)
  const binds = many(10_000, (at) => ` bind *:80\n bind *:${at} ssl crt /c${at}.pem\n`)
  const web = await importHaproxyCfg(`frontend f\n mode http\n redirect scheme https if !{ ssl_fc }\n${binds}${rules}`)
  isOver = true
  test.ok(turns > 10, `${turns} turns`)
  const { certificates, ports, rules: made } = Object(Object(web.document['l7Frontends']).f)
  test.same([certificates.length, ports.split(',').length, made.length], [10_000, 20_000, 2_000])
  test.match(web.notUnderstood.at(-1), { text: 'http-request deny if a9999', why: /has 2,000 rules/ })
  const servers = many(20_000, (at) => ` server s 10.0.${at >> 8}.${at & 255}:80\n default-server weight ${at}\n`)
  const { document } = await importHaproxyCfg(`backend b\n${servers}`)
  test.equal(Object.keys(Object(document['realServers'])).at(-1), 'b-s-19999')
  test.match(Object(document['l7Backends']).b.reals.at(-1), { ripId: 'b-s-19999', weight: 19_998 })
})

t.test('no document is much larger than its file', async (test) => {
  const binds = many(3_000, (at) => ` bind 10.0.${at >> 8}.${at & 255}:80\n`)
  const denied = many(300, (at) => ` http-request deny if { path /${at} }\n`)
  const wide = await importHaproxyCfg(`frontend f\n mode http\n${binds}${denied}`)
  test.notOk('l7Frontends' in wide.document)
  test.match(wide.notUnderstood, { 1: { text: 'bind 10.0.0.0:80', why: /too many rules for so many addresses/ } })
  const chain = many(5_000, (at) => `defaults d${at} from d${at - 1}\n retries ${at}\n fullconn ${at}\n`)
  test.match((await importHaproxyCfg(chain)).notUnderstood, { 9_999: { why: /too many lines of defaults/ } })
})

t.test('lines that several sections take over are reported once', async (test) => {
  const { notUnderstood, remarks } = await importHaproxyCfg(
    [
      'defaults\n timeout client "${X}"\n nosuch\n timeout server 1500\n log "${LOG}" local0\n default-server id 5',
      'backend a\n server s 10.0.0.1:80\nbackend b\n server s 10.0.0.1:80\n server s 10.0.0.2:80\n server s 10.0.0.3:80',
      'backend c\n server b-s-2 10.0.0.4:80\n server b-s-2 10.0.0.3:80\n server b-s-2 10.0.0.4:80',
    ].join('\n'),
  )
  test.match(notUnderstood, [
    { line: 2, why: /uses an environment variable/ },
    { line: 3, why: /no counterpart/ },
  ])
  test.same(
    remarks.map(({ line }) => line),
    [4, 5, 6],
  )
  test.equal(notUnderstood.length, 2)
})

t.test('servers of one name are distinguished by their places', async (test) => {
  const { document } = await importHaproxyCfg(
    [
      'backend a\n server s 10.0.0.1:80',
      'backend b\n server s 10.0.0.1:80\n server s 10.0.0.2:80\n server s 10.0.0.3:80\n server s 10.0.0.2:80',
      'backend c\n server b-s 10.0.0.3:80\n server b-s 10.0.0.2:80\n server c-b-s 10.0.0.3:80\n server b-s 10.0.0.9:80',
    ].join('\n'),
  )
  const members = (name: string) =>
    Object(Object(document['l7Backends'])[name]).reals.map(({ ripId }: { ripId: string }) => ripId)
  test.same(members('b'), ['s', 'b-s', 'b-s-2', 'b-s'])
  test.same(members('c'), ['c-b-s', 'b-s', 'c-b-s', 'c-b-s-2'])
})

t.test('no proxy vanishes silently', async (test) => {
  const { document, notUnderstood } = await importHaproxyCfg(
    [
      'frontend gone\n bind /run/x.sock\n http-request deny\n default_backend b',
      'frontend web\n bind 10.0.0.1:80\n bind 10.0.0.2:80',
      'frontend web-2\n bind 10.0.0.3:80',
      'backend b\n server s 10.0.0.9:80',
      'backend b\n server t 10.0.0.9:81',
      'backend c\n server s 10.0.0.9:80 disabled',
      '.if defined(X)\nfrontend x\n bind *:1\n.endif',
      'backend d\n server s "${IP}:80"',
    ].join('\n'),
  )
  test.same(Object.keys(Object(document['l7Frontends'])), ['web', 'web-3', 'web-2'])
  test.match(document['realServers'], { s: { ip: '10.0.0.9' }, 'c-s': { ip: '10.0.0.9', state: 'halted' } })
  const why = (line: string) => notUnderstood.filter(({ text }) => text === line).map((one) => one.why)
  test.match(why('http-request deny'), [/no supported listening address/])
  test.match(why('server t 10.0.0.9:81'), [/there is another one with the name b/])
  test.match(why('bind *:1'), [/on the environment of HAProxy/])
  test.match(why('server s "${IP}:80"'), [/uses an environment variable/])
})

t.test('a condition after its rule, options of bind, and invalid UTF-8 are reported', async (test) => {
  const { notUnderstood, remarks } = await importHaproxyCfg(`frontend www
  bind 127.0.0.1:80 transparent name inside tfo
  mode http
  acl private path /a
  http-request deny if private
  acl private path /b
  http-request set-header X-Place caf\ufffd
  default_backend web
backend web
  mode http
  server a 192.0.2.1:80
`)
  test.match(notUnderstood, [
    { line: 6, why: /^an earlier rule needs it/ },
    { line: 7, why: 'it is not UTF-8' },
  ])
  test.match(remarks, [
    { line: 2, why: 'transparent has no counterpart' },
    { line: 2, why: 'inside has no counterpart in Fulcrum' },
    { line: 2, why: 'tfo has no counterpart' },
    { line: 4, why: /^rules decode a path/ },
  ])
  test.equal(remarks.length, 4)
})

t.test('files of one name are separate certificates, in any frontends, and relative to crt-base', async (test) => {
  const live = (site: string, port: number) =>
    `frontend ${site}\n mode http\n bind *:${port} ssl crt /etc/letsencrypt/live/${site}/fullchain.pem\n`
  const { document, certificates } = await importHaproxyCfg(`${live('a.test', 443)}${live('b.test', 444)}`)
  test.same(certificates, [
    { name: 'fullchain', path: '/etc/letsencrypt/live/a.test/fullchain.pem' },
    { name: 'b.test-fullchain', path: '/etc/letsencrypt/live/b.test/fullchain.pem' },
  ])
  test.match(document['l7Frontends'], {
    'a.test': { certificates: ['fullchain'] },
    'b.test': { certificates: ['b.test-fullchain'] },
  })
  const based = await importHaproxyCfg('global\n crt-base /etc/ssl\nfrontend f\n bind *:443 ssl crt a.pem crt /b.pem\n')
  test.same(based.certificates, [
    { name: 'a', path: '/etc/ssl/a.pem' },
    { name: 'b', path: '/b.pem' },
  ])
})

t.test('raw lines of listen are where HAProxy obeys them', async (test) => {
  const { document } = await importHaproxyCfg(
    `listen db
 bind *:1
 retries 5
 option allbackups
 no option redispatch
 option tcp-smart-accept
 option tcpka
 backlog 10
 server s 10.0.0.1:80
`,
  )
  test.same(document['l7Raw'], {
    frontends: [{ id: 'db', lines: ['option tcp-smart-accept', 'option tcpka', 'backlog 10'] }],
    backends: [{ id: 'db', lines: ['retries 5', 'option allbackups', 'no option redispatch', 'option tcpka'] }],
  })
})

t.test('response headers of listen apply to all of its backends', async (test) => {
  const importOf = async (...lines: readonly string[]) => {
    const header = ['http-response set-header X-Frame-Options DENY', 'http-response del-header Server']
    const text = ['listen web', 'mode http', 'bind *:80', ...header, ...lines, 'server a 10.0.0.1:80', 'backend files']
    const { document } = await importHaproxyCfg(`${text.join('\n')}\nserver f 10.0.0.2:80\n`)
    return document
  }
  const { l7Raw, l7Backends: apart } = await importOf('use_backend files if { path_beg /files }')
  const lines = ['http-response set-header X-Frame-Options "DENY"', 'http-response del-header Server']
  test.match(l7Raw, { frontends: [{ id: 'web', lines }], backends: undefined })
  test.notMatch(apart, { web: { rules: [{}] } }, 'an added header is added once')
  const { l7Raw: none, l7Backends: alone } = await importOf()
  test.equal(none, undefined)
  test.match(alone, { web: { rules: [{}, {}] } })
})

t.test(
  'what defaults say of HTTP is not for backends without it, and what they say themselves is told',
  async (test) => {
    const http = ['cookie APP insert indirect nocache', 'http-reuse never']
    const db = [
      'listen db',
      'mode tcp',
      'bind 127.0.0.1:3306',
      'http-response del-header Server',
      'server d 10.0.0.3:3306',
    ]
    const web = ['listen web', 'bind 127.0.0.1:80', 'server w 10.0.0.1:80']
    const site = ['defaults', 'mode http', ...http, ...web, ...db].join('\n')
    const { document, remarks } = await importHaproxyCfg(site)
    const { call } = await borrow()
    test.equal((await call('POST', '/config/plan', { body: { document } })).status, 200)
    test.match(document['l7Backends'], { web: { persistence: { type: 'cookie' }, httpReuse: 'never' } })
    const why = 'it has a meaning in mode http only'
    test.match(
      remarks.filter((remark) => remark.why === why),
      [{ text: 'http-response del-header Server' }],
    )
  },
)

t.test('the port of a host, which no rule checks, is reported', async (test) => {
  const lines = [
    'acl admin hdr(host) -i admin.test:8443 admin.test',
    'use_backend b if admin { hdr(X-A) a:1 }',
    'use_backend b if { req.hdr_end(Host) -i .test:8443 }',
    'use_backend b if { hdr(host) -i shop.test }',
  ]
  const text = `frontend f\nmode http\nbind *:80\n${lines.join('\n')}\nbackend b\nserver s 10.0.0.1:80\n`
  const { remarks } = await importHaproxyCfg(text)
  const why = 'a host of a rule has no port: requests to any port match'
  test.match(
    remarks.filter((remark) => remark.why === why).map(({ line }) => line),
    [4, 6],
  )
})

t.test('a table without expire is reported, and default_backend takes precedence over own servers', async (test) => {
  const { document, remarks } = await importHaproxyCfg(
    'listen l\n bind *:1\n stick-table type ip size 1m\n stick on src\n default_backend b\n server s 10.0.0.1:80\nbackend b\n server s 10.0.0.1:80\n',
  )
  test.match(remarks, [{ line: 3, why: /forgotten after 1800 seconds/ }])
  test.match(document['l7Frontends'], { l: { defaultBackendId: 'b' } })
})

t.test('changed behaviour is reported, with its line', async (test) => {
  const told = async (lines: string, backend = '') => {
    const site = `frontend f\n mode http\n bind :80\n${lines}\n default_backend b\nbackend b\n mode http\n`
    const { remarks } = await importHaproxyCfg(`${site} server s 192.0.2.1:80\n${backend}`)
    return remarks.map(({ line, why }) => `${line} ${why}`)
  }
  const list = (name: string) => `a rule compares ${name} as a whole: HAProxy looks at each value between commas`
  const deny = (condition: string) => ` http-request deny if { ${condition} }`
  test.same(await told(deny('hdr(X-Role) admin')), [`4 ${list('X-Role')}`])
  test.same(await told(' acl a hdr_beg(X-Role) -i ad\n http-request deny if !a'), [`4 ${list('X-Role')}`])
  test.same(await told(deny('hdr_reg(Connection) ^up')), [`4 ${list('Connection')}`])
  for (const same of ['hdr(Connection) up', 'hdr_sub(X-Role) ad', 'hdr(X-Role) -m found', 'hdr_reg(X-Role) ad'])
    test.same(await told(deny(same)), [], same)
  const path = 'rules decode a path before they compare it, as servers do: //%61dmin is /admin'
  test.same(await told(`${deny('path_beg /a')}\n${deny('path /b')}`), [`4 ${path}`], 'once per file')
  test.match(await told(deny('url_param(a) b')), [/^4 rules decode a parameter/])
  test.match(await told(deny('hdr(host) a.test')), [
    /^4 rules compare hosts without regard to case, and without the port/,
  ])
  test.match(await told(' compression algo gzip'), [/^4 without types, Fulcrum compresses only texts/])
  test.same(await told(' compression algo gzip\n compression type text/html'), [])
  test.same(await told(' bind :81\n maxconn 9'), [])
  const tls = ' bind :443 ssl crt /a/b.pem'
  test.match(await told(`${tls}\n maxconn 9`), [/^5 each of the resulting frontends/])
  test.match(await told(`${tls}\n option forwardfor`), [/^5 with TLS, X-Forwarded-Proto is sent as well/])
  test.match(await told(' bind :443 ssl crt /a/b'), [/^4 if \/a\/b is a folder/])
  for (const folder of ['/a/b.d/', '/a/b.d'])
    test.match(await told(` bind :443 ssl crt ${folder}`), [new RegExp(`^4 if ${folder} is a folder`)], folder)
  const redirect = ' redirect scheme https code 301 if !{ ssl_fc }'
  test.same(await told(`${tls}\n${redirect}`), [])
  test.match(await told(` bind :8080\n${redirect}`), [/^5 the port in Host is left out/])
  test.match(await told(`${deny('method PUT')}\n${redirect}`), [/^5 it comes before all rules/])
  const table = (more: string) => ` stick-table type ip size 1m expire 5m ${more}\n stick on src\n`
  test.same(await told('', table('')), [])
  test.match(await told('', table('peers p')), [/^9 nodes of Fulcrum share this table automatically/])
  test.match(await told('', table('store gpc0')), [/^9 other stored data/])
  test.match(await told('', ' cookie A insert\n'), [
    /new cookie values/,
    /^9 cookies of Fulcrum are indirect and nocache/,
  ])
})

t.test('names are resolved by the system, unless name servers are given; disabled parts stay so', async (test) => {
  const { document } = await importHaproxyCfg(
    `frontend f\n bind :80\n disabled\n default_backend b
backend b
 server local localhost:8080
 server far far.test:80 resolvers dns
 server near 192.0.2.1:80
backend c
 disabled
 default-server resolvers dns
 server other other.test:80
frontend tcp
 compression algo gzip
 redirect scheme https
 bind :81
 default_backend b`,
  )
  const { realServers, l7Frontends, l7Backends } = Object(document)
  test.same(
    ['local', 'far', 'near', 'other'].map((name) => realServers[name].resolve),
    ['start', undefined, undefined, undefined],
  )
  test.equal(l7Frontends.f.enabled, false)
  test.equal(l7Backends.c.enabled, false)
  test.equal(l7Backends.b.enabled, undefined)
  test.same(Object.keys(l7Frontends.tcp), ['mode', 'ip', 'ports', 'defaultBackendId'], 'HTTP means nothing in tcp')
})

t.test('a header that no rule may set is reported, and does not make a plan refuse the rest', async (test) => {
  const { document, notUnderstood } = await importHaproxyCfg(
    `frontend f\n mode http\n bind :80\n http-request set-header Connection close if { path /a }\n default_backend b
backend b\n mode http\n http-response del-header Upgrade\n server s 192.0.2.1:80`,
  )
  test.same(
    notUnderstood.map(({ line, why }) => [line, why]),
    [[4, 'Connection is set by HAProxy itself, not by rules']],
  )
  const { l7Frontends, l7Backends, l7Raw } = Object(document)
  test.same([l7Frontends.f.rules, l7Backends.b.rules], [undefined, undefined])
  test.same(l7Raw.backends, [{ id: 'b', lines: ['http-response del-header Upgrade'] }], 'raw lines may')
})

t.test('of two kinds of persistence, the one that is left out is reported', async (test) => {
  const { remarks } = await importHaproxyCfg(`backend b
 mode http
 stick-table type ip size 1m expire 30m
 stick on src
 cookie S insert indirect nocache
 server s 192.0.2.1:80 cookie s`)
  test.match(
    remarks.filter(({ line }) => line === 4),
    [{ why: /one kind of persistence/ }],
  )
})

t.test('a listen of statistics to which a frontend leads remains as its backend', async (test) => {
  const { document } = await importHaproxyCfg(`frontend f
 mode http
 bind :80
 use_backend st if { path_beg /stats }
listen st
 mode http
 bind :8404
 stats enable`)
  const { l7Frontends, l7Backends } = Object(document)
  test.same([Object.keys(l7Frontends), Object.keys(l7Backends)], [['f'], ['st']])
})
