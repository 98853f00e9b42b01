import { constants } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import t, { type Test } from 'tap'
import type { L7Backend, L7Frontend } from '../../src/model/layer7.ts'
import { NO_RAW } from '../../src/model/l7-raw.ts'
import { PAGE_BYTES_MAX } from '../../src/model/l7-settings.ts'
import { verifyConfig } from '../../src/drivers/haproxy/verify.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { backend, frontend, realServer } from '../fixtures/config.ts'
import { freePort } from '../fixtures/traffic.ts'
import { viewOf } from '../fixtures/view.ts'
import { haproxyFixture } from '../workers/host/haproxy-fixture.ts'
import { ask, origin } from './asked-haproxy.ts'

/** Answers that a real HAProxy gives itself, and its handling of connections. */

type Frontends = Readonly<Record<string, Partial<L7Frontend>>>
type Backends = Readonly<Record<string, Partial<L7Backend>>>

/** Starts a HAProxy with these frontends, and returns their ports by name. Frontends have the backend `web`. */
async function site<F extends Frontends>(test: Test, fields: F, backends: Backends = {}, certificates: object = {}) {
  const { apply, paths } = haproxyFixture(test)
  const realServers = [realServer('web', { ip: '127.0.0.1', port: await origin(test, 'web') })]
  const ports: Record<string, number> = {}
  for (const id of Object.keys(fields)) ports[id] = await freePort()
  const l7Backends = Object.entries({ web: {}, ...backends }).map(([id, more]) => backend(id, ['web'], more))
  const l7Frontends = Object.entries(fields).map(([id, more]) =>
    frontend(id, 'web', { ports: `${ports[id]}`, ...more }),
  )
  const view = viewOf({ realServers, l7Backends, l7Frontends, ...certificates })
  test.same(verifyConfig(view, paths), [])
  test.match(await apply(undefined, view), { ok: true })
  // Sound: each of them was given one.
  return ports as { readonly [N in keyof F]: number }
}

/** The answer to bytes that no HTTP client would send; undefined where the connection is cut. */
async function sent(port: number, bytes: string, options?: ConnectionOptions) {
  const socket =
    options === undefined ? connect(port, '127.0.0.1') : connectTls({ host: '127.0.0.1', port, ...options })
  socket.write(bytes)
  return await text(socket).catch(() => undefined)
}
const GET = 'GET / HTTP/1.1\r\nHost: www.example.org\r\nConnection: close\r\n\r\n'

t.test('maintenance answers for frontends and for backends', async (test) => {
  const page = `<p>it's "50 %"\n of $HOME`
  const maintenance = { enabled: true, page }
  const { shop, api, off, tcp, tcpBackend } = await site(
    test,
    {
      shop: { maintenance },
      api: { defaultBackendId: 'worked-on', errorPages: [{ status: 503, page: 'not this' }] },
      off: { maintenance: { ...maintenance, enabled: false } },
      tcp: { mode: 'tcp', defaultBackendId: 'passing', maintenance: { enabled: true } },
      tcpBackend: { mode: 'tcp', defaultBackendId: 'closed' },
    },
    {
      'worked-on': { maintenance: { enabled: true, status: 404 } },
      passing: { mode: 'tcp' },
      closed: { mode: 'tcp', maintenance: { enabled: true } },
    },
  )
  const headers = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }
  test.match(await ask(shop, {}), { status: 503, body: page, headers, arrived: undefined })
  test.match(await ask(api, {}), { status: 404, body: /try again later/, headers })
  test.match(await ask(off, {}), { status: 200, arrived: { at: 'web' } })
  for (const port of [tcp, tcpBackend]) test.notOk(await sent(port, GET))
})

t.test(
  "error pages come from the backend, otherwise from the frontend, and never replace a server's answer",
  async (test) => {
    const pages = (of: string) =>
      [403, 503].map((status) => ({ status: status as 403 | 503, page: `<h1>${of} ${status}` }))
    const longest = 'x'.repeat(PAGE_BYTES_MAX)
    const { shop, own, most } = await site(
      test,
      {
        shop: {
          errorPages: [...pages('frontend'), { status: 404, page: '' }],
          defaultBackendId: 'silent',
          rules: [
            { when: { all: [{ type: 'path', values: ['/no'] }] }, do: { type: 'deny' } },
            { when: { all: [{ type: 'path', values: ['/gone'] }] }, do: { type: 'deny', status: 404 } },
            {
              when: { all: [{ type: 'path', values: ['/limit'] }] },
              do: { type: 'limit', per: 'source', rate: 0, answer: 404 },
            },
          ],
        },
        own: { errorPages: pages('frontend'), defaultBackendId: 'own' },
        most: { errorPages: [{ status: 503, page: longest }], defaultBackendId: 'silent' },
        web: { errorPages: pages('frontend') },
      },
      {
        silent: { reals: [] },
        own: { reals: [], errorPages: pages('backend') },
      },
    )
    test.match(await ask(shop, {}), { status: 503, body: '<h1>frontend 503' })
    const headers = { 'cache-control': 'no-cache' }
    test.match(await ask(shop, { path: '/no' }), { status: 403, body: '<h1>frontend 403', headers })
    test.match(await ask(shop, { path: '/gone' }), { status: 404, body: '', headers })
    test.match(await ask(shop, { path: '/limit' }), { status: 404, headers: { ...headers, 'retry-after': '1' } })
    test.match(await ask(own, {}), { status: 503, body: '<h1>backend 503' })
    test.match(await ask(most, {}), { status: 503, body: longest })
    test.match(await ask(shop, { headers: { 'X-Status': '503' }, path: '/no' }), { status: 403 })
  },
)

t.test('an error answer of a server is passed on', async (test) => {
  const { shop } = await site(test, { shop: { errorPages: [{ status: 503, page: 'not this' }] } })
  test.match(await ask(shop, { headers: { 'X-Status': '503' } }), { status: 503, arrived: { at: 'web' } })
})

t.test('the content type decides about compression', async (test) => {
  const json = { enabled: true, types: ['application/json'] }
  const { all, html, off } = await site(test, {
    all: { compression: json },
    html: { compression: { enabled: true, types: ['text/html'] } },
    off: { compression: { ...json, enabled: false } },
  })
  const encoding = async (port: number) => {
    // fetch decompresses the answer.
    const answer = await fetch(`http://127.0.0.1:${port}/`, { headers: { 'Accept-Encoding': 'gzip' } })
    test.match(await answer.json(), { at: 'web' })
    return answer.headers.get('content-encoding')
  }
  const [asJson, asHtml, plain] = [await encoding(all), await encoding(html), await encoding(off)]
  test.same([asJson, asHtml, plain], ['gzip', null, null])
})

t.test("PROXY protocol gives the client's address, from all senders or from the named ones", async (test) => {
  const { everybody, named } = await site(test, {
    everybody: { forwardFor: true, proxyProtocol: true },
    named: { forwardFor: true, proxyProtocol: ['192.0.2.0/24', '127.0.0.2'] },
  })
  const announced = `PROXY TCP4 203.0.113.9 127.0.0.1 1000 80\r\n${GET}`
  const forwarded = /"x-forwarded-for":"([^"]*)"/
  const clientOf = async (port: number, bytes: string) => forwarded.exec((await sent(port, bytes)) ?? '')?.[1]
  test.equal(await clientOf(everybody, announced), '203.0.113.9')
  test.equal(await clientOf(everybody, GET), undefined, 'a client without it is cut off')
  test.equal(await clientOf(named, GET), '127.0.0.1')
  test.equal(await clientOf(named, announced), undefined, 'and others are not trusted')
  const socket = connect({ port: named, host: '127.0.0.1', localAddress: '127.0.0.2' })
  socket.write(announced)
  test.equal(forwarded.exec(await text(socket))?.[1], '203.0.113.9')
})

t.test('clients present a certificate of a known authority, and protocols are offered', async (test) => {
  const maker = certificateMaker(test)
  const server = maker.record('www', maker.pair({ name: 'www.test' }))
  const [ours, theirs] = ['ours', 'theirs'].map((name) => maker.pair({ name, isCa: true }))
  if (ours === undefined || theirs === undefined) throw new Error('two are made')
  const client = maker.pair({ name: 'client', issuer: ours })
  const stranger = maker.pair({ name: 'stranger', issuer: theirs })
  const tls = { certificates: ['www'], clientCa: ours.cert }
  const { required, optional, open } = await site(
    test,
    {
      required: { ...tls, clientVerify: 'required' as const, alpn: ['http/1.1'] },
      optional: { ...tls, clientVerify: 'optional' as const },
      open: { certificates: ['www'], alpn: ['h2', 'http/1.1'] },
    },
    {},
    { certificates: [server] },
  )
  const as = (shown: { cert: string; key: string } | undefined) => ({ rejectUnauthorized: false, ...shown })
  const status = async (port: number, shown?: { cert: string; key: string }) =>
    (await sent(port, GET, as(shown)))?.slice(9, 12)
  test.same(
    [await status(required, client), await status(required, stranger), await status(required)],
    ['200', undefined, undefined],
  )
  test.same(
    [await status(optional, client), await status(optional, stranger), await status(optional)],
    ['200', undefined, '200'],
  )
  const offered = async (port: number, shown = client) => {
    const socket = connectTls({ host: '127.0.0.1', port, ALPNProtocols: ['h2', 'http/1.1'], ...as(shown) })
    await once(socket, 'secureConnect')
    socket.destroy()
    return socket.alpnProtocol
  }
  test.same([await offered(required), await offered(open)], ['http/1.1', 'h2'])
})

t.test('a TLS session of one frontend does not replace the certificate that another one requires', async (test) => {
  const maker = certificateMaker(test)
  const [ours, theirs] = [maker.pair({ name: 'ours', isCa: true }), maker.pair({ name: 'theirs', isCa: true })]
  const client = maker.pair({ name: 'client', issuer: ours })
  const tls = { certificates: ['www'], clientVerify: 'required' as const }
  const { open, first, second } = await site(
    test,
    {
      open: { certificates: ['www'] },
      first: { ...tls, clientCa: ours.cert },
      second: { ...tls, clientCa: theirs.cert },
    },
    {},
    { certificates: [maker.record('www', maker.pair({ name: 'www.test' }))] },
  )
  // A ticket could be used only where it was issued.
  const older = { maxVersion: 'TLSv1.2', secureOptions: constants.SSL_OP_NO_TICKET, rejectUnauthorized: false } as const
  const sessionOf = async (port: number, shown: object = {}) => {
    const socket = connectTls({ host: '127.0.0.1', port, ...older, ...shown })
    await once(socket, 'secureConnect')
    const session = socket.getSession()
    socket.end(GET)
    test.match(await text(socket), /^HTTP\/1\.1 200/)
    return session === undefined ? {} : { session }
  }
  const [ofAnybody, ofClient] = [await sessionOf(open), await sessionOf(first, client)]
  for (const port of [first, second])
    test.equal(await sent(port, GET, { ...older, ...ofAnybody }), undefined, 'a session without a certificate')
  test.equal(await sent(second, GET, { ...older, ...ofClient }), undefined, 'a session of another authority')
})

t.test(
  'a client that does not finish its request is cut off in time; an incomplete request gets no page',
  async (test) => {
    const { slow } = await site(test, {
      slow: {
        timeouts: { httpRequest: 1, httpKeepAlive: 1, clientFin: 1 },
        errorPages: [{ status: 408, page: 'too slow' }],
      },
    })
    const socket = connect({ port: slow, host: '127.0.0.1', allowHalfOpen: true })
    socket.write('GET / HTTP/1.1\r\nHost:')
    test.match(await text(socket), /^HTTP\/1\.1 408 (?![^]*too slow)/)
    socket.destroy()
  },
)

t.test('raw lines are in force, and a line that HAProxy does not know is named', async (test) => {
  const { apply, driver } = haproxyFixture(test)
  const port = await freePort()
  const withLines = (...lines: readonly string[]) =>
    viewOf({
      realServers: [realServer('web', { ip: '127.0.0.1', port: webPort })],
      l7Backends: [backend('web', ['web'])],
      l7Frontends: [frontend('fe', 'web', { ports: `${port}` })],
      l7Raw: [{ id: 'cluster', ...NO_RAW, frontends: [{ id: 'fe', lines: [...lines] }] }],
    })
  const webPort = await origin(test, 'web')
  const view = withLines('http-request return status 418 if { path /tea }', 'option dontlognull')
  test.match(await apply(undefined, view), { ok: true })
  test.match([(await ask(port, { path: '/tea' })).status, (await ask(port, {})).status], [418, 200])
  const wrong = withLines('option dontlognull', 'option nothing')
  const refused = await apply(view, wrong)
  const problems = 'output' in refused ? driver.diagnose(refused.output, wrong) : []
  test.match(problems, [{ section: 'l7Raw', id: 'cluster', field: 'frontends.0.lines.1', message: /nothing/ }])
  test.match((await ask(port, { path: '/tea' })).status, 418, 'and the running configuration stays')
})
