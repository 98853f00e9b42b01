import t from 'tap'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { freePort } from '../fixtures/traffic.ts'
import { origin } from './asked-haproxy.ts'
import { pebbleFixture } from './pebble.ts'
import { output } from './tls-frontend.ts'

/** A day of an operator, with names and as few calls as possible, as in the README. */

const SITE = 'www.site.test'

t.test('a site, from nothing to the search for a request that failed', async (t) => {
  const [plain, tls] = [await freePort(), await freePort()]
  const ca = await pebbleFixture(t, { httpPort: plain })
  const daemon = await daemonFixture(t)
  const { node } = daemon
  const names = ['web1', 'web2', 'api1', 'next1'] as const
  const frontend = (name: string, more: object) => daemon.data('PUT', `/layer7proxy/frontends/${ids[name]}`, more)
  const ids: Record<string, string> = {}
  const create = async (path: string, body: { readonly name: string }) =>
    void (ids[body.name] = (await daemon.data('POST', path, body)).id)
  const apply = () => daemon.data('PUT', '/services/apply')

  for (const name of names)
    await create('/ipvsDirector/rips', Object.assign({ name, ip: '127.0.0.1' }, { port: await origin(t, name) }))
  const backend = (name: string, reals: readonly string[], more: object = {}) => {
    const members = reals.map((real) => ({ ripId: { name: real } }))
    return create('/layer7proxy/backends', Object.assign({ name, reals: members }, { mode: 'http', ...more }))
  }
  await backend('web', ['web1', 'web2'], { persistence: { type: 'cookie', cookieName: 'SRV' } })
  await backend('api', ['api1'])
  await backend('next', ['next1'])
  const place = { mode: 'http', ip: '127.0.0.1', defaultBackendId: { name: 'web' } }
  await create('/layer7proxy/frontends', Object.assign({ name: 'open', ports: `${plain}` }, place))
  const account = { directoryUrl: ca.directoryUrl, caCertificate: ca.root, termsAgreed: true, httpPort: plain }
  await create('/certificates/acme/accounts', Object.assign({ name: 'ca' }, account))
  const order = { name: 'site', accountId: { name: 'ca' }, names: [SITE] }
  const { certificateId } = await daemon.data('POST', '/certificates/acme/orders', order)
  await create(
    '/layer7proxy/frontends',
    Object.assign(
      { name: 'site', ports: `${tls}` },
      { ...place, certificates: [certificateId], hsts: true, logs: { enabled: true, headers: ['User-Agent'] } },
      {
        rules: [
          { name: 'Who asks', do: { type: 'setHeader', name: 'X-Real-IP', value: '{source}' } },
          rule('No admin', { type: 'path', match: 'begins', values: ['/admin'] }, { type: 'deny' }),
          rule('Logins', { type: 'path', values: ['/login'] }, { type: 'limit', per: 'source', rate: 3, over: 60 }),
          rule('Canary', { type: 'cookie', name: 'canary', values: ['1'] }, to('next')),
          rule('API', { type: 'path', match: 'begins', values: ['/api/'] }, to('api')),
        ],
      },
    ),
  )
  await frontend('open', {
    rules: [{ do: { type: 'redirect', to: `https://${SITE}:${tls}{path}`, status: 301 } }],
  })
  await apply()
  const found = async (path: string, ...more: readonly string[]) => {
    const at = ['--connect-to', `${SITE}:${tls}:127.0.0.1:${tls}`]
    const told = ['-w', '\n%{http_code} %{redirect_url} %{header_json}', '--path-as-is']
    const text = await output('curl', '-sk', ...told, ...at, ...more, `https://${SITE}:${tls}${path}`)
    const [, body = '', status, rest] = /^([^]*?)\n(\d+) ([^]*)$/.exec(text) ?? []
    return { status: Number(status), at: body.startsWith('{') ? JSON.parse(body).at : body, rest, body }
  }

  await t.test('HTTPS with an automatic certificate, and a redirect to it', async (test) => {
    await until(
      'the certificate',
      async () => (await daemon.data('GET', '/certificates/acme/orders?name=site'))[0],
      ({ state, lastError }) => {
        if (lastError !== null) throw new Error(lastError)
        return state === 'valid'
      },
    )
    const [ours, signed] = [
      await found('/'),
      await output(
        'sh',
        '-c',
        `echo | openssl s_client -connect 127.0.0.1:${tls} -servername ${SITE} 2>/dev/null | openssl x509 -noout -issuer`,
      ),
    ]
    test.match(signed, /Pebble/)
    test.match(ours, { status: 200, at: /^web[12]$/, rest: /strict-transport-security/ })
    const open = await output(
      'curl',
      '-s',
      '-o',
      '/dev/null',
      '-w',
      '%{http_code} %{redirect_url}',
      '-H',
      `Host: ${SITE}`,
      `http://127.0.0.1:${plain}/shop`,
    )
    test.equal(open, `301 https://${SITE}:${tls}/shop`)
  })

  await t.test('clients keep their server, and rules route, refuse and limit them', async (test) => {
    const { rest = '', at } = await found('/')
    const cookie = /SRV=([^;"\\]+)/.exec(rest)?.[0] ?? ''
    for (let again = 0; again < 4; again++) test.equal((await found('/', '-H', `Cookie: ${cookie}`)).at, at)
    test.equal((await found('/api/items')).at, 'api1')
    test.match((await found('/api/items')).body, /"x-real-ip":"127\.0\.0\.1"/)
    test.equal((await found('/admin/users')).status, 403)
    test.equal((await found('/', '-H', 'Cookie: canary=1')).at, 'next1')
    const logins: number[] = []
    for (let login = 0; login < 5; login++) logins.push((await found('/login')).status)
    test.same(logins, [200, 200, 200, 429, 429])
  })

  await t.test('maintenance for an hour', async (test) => {
    const page = '<h1>Back at six</h1>'
    await daemon.data('PUT', `/layer7proxy/backends/${ids['api']}`, { maintenance: { enabled: true, page } })
    await apply()
    test.match(await found('/api/items'), { status: 503, body: page })
    test.equal((await found('/')).status, 200, 'everything else still works')
    await daemon.data('PUT', `/layer7proxy/backends/${ids['api']}`, { maintenance: { enabled: false, page } })
    await apply()
    test.equal((await found('/api/items')).status, 200)
  })

  await t.test('a request failed; which, and why?', async (test) => {
    await daemon.data('PUT', `/ipvsDirector/rips/${ids['api1']}/halt`)
    await apply()
    test.equal((await found('/api/orders/4711?token=secret', '-A', 'Shop/1')).status, 503)
    const search = () => daemon.data('GET', `/${node}/layer7proxy/logs?status=503&path=/api/orders&limit=5`)
    const [line] = await until('its line', search, (lines) => lines.length > 0)
    test.match(line, { status: 503, path: '/api/orders/4711?token=**', method: 'GET' })
    test.match(JSON.stringify(line), /Shop\/1/)
    test.match(await daemon.data('GET', `/${node}/layer7proxy/logs/top`), { status: [{ count: Number }] })
  })
})

const rule = (name: string, condition: object, action: object) => ({ name, when: { all: [condition] }, do: action })
const to = (name: string) => ({ type: 'backend', backendId: { name } })
