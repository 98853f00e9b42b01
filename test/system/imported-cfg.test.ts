import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../fixtures/folder.ts'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { freePort, httpServer } from '../fixtures/traffic.ts'

/** A haproxy.cfg, and its import into Fulcrum: two HAProxys that get the same requests. */

const origin = (test: Test, name: string): Promise<number> =>
  httpServer(test, ({ url, headers }, answer) => {
    const { 'x-site': site, 'x-forwarded-for': forwarded, 'x-gone': gone } = headers
    answer.setHeader('server', 'origin')
    answer.end(JSON.stringify({ name, url, site, forwarded, gone }))
  })

interface Asked {
  readonly path: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** The parts of an answer on which both have to agree. */
function ask(port: number, { path, method = 'GET', headers = {} }: Asked): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const going = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk) => (text += String(chunk)))
      answer.on('end', () => {
        const { location, server, 'x-frame-options': frame } = answer.headers
        const body: unknown = text.startsWith('{') ? JSON.parse(text) : ''
        resolve({ status: answer.statusCode, location, server, frame, body })
      })
    })
    going.on('error', reject)
    going.end()
  })
}

const cfg = (port: number, other: number, shop: number, api: number, files: number) => `
global
    maxconn 200
defaults
    mode http
    timeout connect 2s
    timeout client 5s
    timeout server 5s
    option http-keep-alive
frontend www
    bind 127.0.0.1:${port}
    option forwardfor
    acl api path_beg /api /v2
    acl static path_end -i .css .js
    acl static hdr_beg(host) -i static.
    acl local src 127.0.0.0/8
    acl post method POST
    acl beta hdr(X-Beta) -m found
    acl beta cook(beta) 1
    http-request deny deny_status 405 if post { path /readonly }
    http-request deny if { path_beg /admin } !{ hdr(X-Key) secret }
    http-request deny deny_status 404 if { path /hidden } !local or { url_param(hide) yes }
    http-request set-header X-Site shop if local
    http-request del-header X-Gone
    http-request redirect location /new code 301 if { path /old }
    redirect location https://other.test/ if { hdr(host) -i other.test }
    use_backend api if api !static
    use_backend files if static
    use_backend api if beta
    use_backend files if { path_reg \\.(png|jpg)$ }
    use_backend files if { path_reg -i "^/v\\d+/\\"x" }
    use_backend api if { hdr(Accept) application/json } || { hdr_end(Accept) -i Xml }
    default_backend shop
backend shop
    balance roundrobin
    http-response set-header X-Frame-Options DENY
    http-response del-header Server
    server s1 127.0.0.1:${shop}
    server s2 127.0.0.1:${api} disabled
backend api
    server a1 127.0.0.1:${api} check
backend files
    server f1 127.0.0.1:${files}
    server f2 127.0.0.1:1 backup
listen direct
    bind 127.0.0.1:${other}
    server d1 127.0.0.1:${files} weight 10
    server d2 127.0.0.1:${shop} weight 0
`

const REQUESTS: readonly Asked[] = [
  { path: '/' },
  { path: '/api/x?y=1' },
  { path: '/v2' },
  { path: '/API' },
  { path: '/api/x.css' },
  { path: '/a.CSS' },
  { path: '/', headers: { host: 'static.shop.test' } },
  { path: '/', headers: { host: 'STATIC.shop.test:8080' } },
  ...['/x.png', '/xpng', '/V12/"x', '/vd/"x', '/v1/x'].map((path) => ({ path })),
  ...[
    'application/json',
    'text/html, application/json',
    'text/html,application/json ,a/b',
    'a/jsonb',
    'a/XML, b/c',
    'a/b',
  ].map((accept) => ({ path: '/', headers: { accept } })),
  { path: '/readonly', method: 'POST' },
  { path: '/readonly' },
  { path: '/admin/x' },
  { path: '/admin/x', headers: { 'x-key': 'secret' } },
  { path: '/admin/x', headers: { 'x-key': 'Secret' } },
  { path: '/hidden' },
  { path: '/shown?hide=yes' },
  { path: '/shown?hide=no' },
  { path: '/old' },
  { path: '/old/er' },
  { path: '/', headers: { host: 'Other.test' } },
  { path: '/', headers: { 'x-beta': '' } },
  { path: '/', headers: { 'x-beta': 'x', 'x-gone': '1' } },
  { path: '/', headers: { cookie: 'a=b; beta=1' } },
  { path: '/', headers: { cookie: 'beta=10' } },
]

t.test('the import answers as the file did', async (test) => {
  const [shop, api, files] = [await origin(test, 'shop'), await origin(test, 'api'), await origin(test, 'files')]
  const ports = [await freePort(), await freePort(), await freePort(), await freePort()] as const
  const folder = temporaryFolder(test, 'imported')
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, cfg(ports[0], ports[1], shop, api, files))
  const original = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' })
  test.teardown(() => original.kill('SIGKILL'))

  const daemon = await daemonFixture(test)
  const { document, notUnderstood, certificates } = await daemon.data('POST', '/config/import', {
    haproxyCfg: cfg(ports[2], ports[3], shop, api, files),
  })
  test.same([notUnderstood, certificates], [[], []])
  const { planId } = await daemon.data('POST', '/config/plan', { document })
  await daemon.data('PUT', `/config/plans/${planId}/apply`)
  for (const port of ports) await until('an answer', () => ask(port, { path: '/' }).catch(() => undefined), Boolean)
  for (const asked of REQUESTS) test.same(await ask(ports[2], asked), await ask(ports[0], asked), JSON.stringify(asked))
  test.same(await ask(ports[3], { path: '/x' }), await ask(ports[1], { path: '/x' }))
  test.match(await ask(ports[2], { path: '/api' }), { status: 200, body: { name: 'api', site: 'shop' } })
})

/** Lines that the report of an import names, because their meaning changes. */
const toldOf = (port: number, shop: number, api: number) => `
defaults
    mode http
    timeout connect 2s
    timeout client 5s
    timeout server 5s
frontend www
    bind 127.0.0.1:${port}
    http-request deny if { hdr(X-Role) guest }
    http-request deny if { path_beg /admin }
    http-request deny if { url_param(hide) yes }
    use_backend api if { hdr(host) api.test }
    default_backend shop
frontend off
    bind 127.0.0.1:1
    disabled
    default_backend shop
backend shop
    server s1 localhost:${shop}
backend api
    server a1 127.0.0.1:${api}
`

t.test('reported differences are real, and everything else is unchanged', async (test) => {
  const [shop, api] = [await origin(test, 'shop'), await origin(test, 'api')]
  const ports = [await freePort(), await freePort()] as const
  const text = (port: number) => toldOf(port, shop, api)
  const file = join(temporaryFolder(test, 'imported'), 'haproxy.cfg')
  writeFileSync(file, text(ports[0]))
  const original = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' })
  test.teardown(() => original.kill('SIGKILL'))
  const daemon = await daemonFixture(test)
  const { document, notUnderstood, remarks } = await daemon.data('POST', '/config/import', {
    haproxyCfg: text(ports[1]),
  })
  test.same(notUnderstood, [])
  const { planId } = await daemon.data('POST', '/config/plan', { document })
  await daemon.data('PUT', `/config/plans/${planId}/apply`)
  for (const port of ports) await until('an answer', () => ask(port, { path: '/' }).catch(() => undefined), Boolean)
  const isTold = (why: RegExp) => remarks.some((remark: { why: string }) => why.test(remark.why))
  const compare = async (asked: Asked) => [await ask(ports[0], asked), await ask(ports[1], asked)]
  const SAME: readonly Asked[] = [
    { path: '/' },
    { path: '/admin' },
    { path: '/?hide=yes' },
    { path: '/', headers: { 'x-role': 'guest' } },
    { path: '/', headers: { 'x-role': 'other' } },
    { path: '/', headers: { host: 'api.test' } },
  ]
  for (const asked of SAME) {
    const [theirs, ours] = await compare(asked)
    test.same(ours, theirs, JSON.stringify(asked))
  }
  const OTHERWISE: readonly (readonly [RegExp, Asked])[] = [
    [/X-Role as a whole/, { path: '/', headers: { 'x-role': 'staff, guest' } }],
    [/decode a path/, { path: '/%61dmin' }],
    [/decode a parameter/, { path: '/?hide=%79es' }],
    [/hosts without regard to case, and without the port/, { path: '/', headers: { host: 'API.test:8080' } }],
  ]
  for (const [why, asked] of OTHERWISE) {
    const [theirs, ours] = await compare(asked)
    test.ok(isTold(why), String(why))
    test.notSame(ours, theirs, JSON.stringify(asked))
  }
})
