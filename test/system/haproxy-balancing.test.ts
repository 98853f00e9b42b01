import { connect as connectHttp2 } from 'node:http2'
import { text } from 'node:stream/consumers'
import t from 'tap'
import type { L7Backend, L7Frontend } from '../../src/model/layer7.ts'
import type { RealServer } from '../../src/model/real-server.ts'
import { backend, frontend, realServer } from '../fixtures/config.ts'
import { viewOf } from '../src/drivers/haproxy/records.ts'
import { freePort } from '../fixtures/traffic.ts'
import { until } from '../fixtures/until.ts'
import { haproxyFixture } from '../workers/host/haproxy-fixture.ts'
import { get, httpOrigin } from './haproxy-traffic.ts'

async function site(t: Parameters<typeof haproxyFixture>[0]) {
  const fixture = haproxyFixture(t)
  const port = await freePort()
  const one = realServer('r1', { port: await httpOrigin(t, 'one') })
  const two = realServer('r2', { port: await httpOrigin(t, 'two') })
  const config = (
    more: Partial<L7Backend>,
    realServers: readonly RealServer[] = [one, two],
    moreFrontend: Partial<L7Frontend> = {},
  ) =>
    viewOf({
      realServers,
      l7Frontends: [frontend('f', 'b', { ports: String(port), ...moreFrontend })],
      l7Backends: [
        backend(
          'b',
          realServers.map(({ id }) => id),
          more,
        ),
      ],
    })
  const bodies = async (count: number, headers = {}): Promise<readonly string[]> => {
    const answers = []
    for (let index = 0; index < count; index++) answers.push((await get(port, headers)).body)
    return answers
  }
  return { ...fixture, port, one, two, config, bodies }
}

t.test('weights share the connections', async (t) => {
  const { apply, config, bodies, one, two } = await site(t)
  await apply(
    undefined,
    config({}, [
      { ...one, weight: 30 },
      { ...two, weight: 10 },
    ]),
  )
  const served = await bodies(40)
  t.equal(served.filter((body) => body === 'one').length, 30)
})

t.test('a cookie keeps a client, with a drained server too, until its server is halted', async (t) => {
  const { apply, config, bodies, port, one, two } = await site(t)
  const sticky = { persistence: { type: 'cookie', cookieName: 'STAY' } } as const
  await apply(undefined, config(sticky))
  const { body, cookie = '' } = await get(port)
  t.match(cookie, /^STAY=r[12]$/)
  t.strictSame(new Set(await bodies(6, { cookie })), new Set([body]))
  const moved = (state: 'drained' | 'halted') =>
    [one, two].map((real) => (cookie.endsWith(real.id) ? { ...real, state } : real))
  t.match(await apply(config(sticky), config(sticky, moved('drained'))), { ok: true })
  t.strictSame(new Set(await bodies(6, { cookie })), new Set([body]), 'it returns to a drained server')
  t.notOk((await bodies(6)).includes(body), 'which gets no new client')
  t.match(await apply(config(sticky, moved('drained')), config(sticky, moved('halted'))), { ok: true })
  t.notOk((await bodies(6, { cookie })).includes(body), 'all clients go to the other server')
})

t.test('an address keeps its server over a reload', async (t) => {
  const { apply, config, bodies, ask } = await site(t)
  const sticky = { persistence: { type: 'ip', timeout: 60 } } as const
  await apply(undefined, config(sticky))
  const [first] = await bodies(1)
  t.strictSame(new Set(await bodies(6)), new Set([first]))
  t.match(await ask('@1 show table b'), /key=::ffff:127\.0\.0\.1 .* server_key=r[12]/)
  // A HAProxy that started without peers gives up learning after some seconds; only then does it teach.
  const isReady = async () =>
    (Number(/id=fulcrum_peers .*flags=(0x[\da-f]+)/.exec(await ask('@1 show peers'))?.[1]) & 3) === 3
  await until('a HAProxy that teaches', isReady)
  for (const timeoutServer of [31, 32, 33]) {
    t.match(await apply(undefined, config({ ...sticky, timeoutServer })), { ok: true })
    await until('an entry of the table', async () => (await ask('@1 show table b')).includes('key='))
    t.strictSame(new Set(await bodies(4)), new Set([first]), 'the table was transferred')
  }
})

t.test('the fallback answers while no real server takes new connections: drained counts like halted', async (t) => {
  const { apply, config, bodies, one, two } = await site(t)
  const more = { fallback: { ip: '127.0.0.1', port: await httpOrigin(t, 'sorry') } }
  const both = (first: Partial<RealServer>, second: Partial<RealServer>) =>
    config(more, [
      { ...one, ...first },
      { ...two, ...second },
    ])
  await apply(undefined, both({}, {}))
  let running = both({}, {})
  const table = [
    [both({ state: 'drained' }, {}), 'two'],
    [both({ state: 'drained' }, { state: 'drained' }), 'sorry'],
    [both({ state: 'drained' }, { state: 'halted' }), 'sorry'],
    [both({ state: 'drained' }, { weight: 0 }), 'sorry'],
    [both({}, { state: 'halted' }), 'one'],
  ] as const
  for (const [desired, expected] of table) {
    t.match(await apply(running, desired), { ok: true })
    running = desired
    t.strictSame(await bodies(3), [expected, expected, expected])
  }
})

t.test('persistence does not remember the fallback', async (t) => {
  const { apply, config, bodies, one, two } = await site(t)
  const fallback = { ip: '127.0.0.1', port: await httpOrigin(t, 'sorry') }
  const reals = [{ ripId: 'r1' }, { ripId: 'r2', backup: true }]
  const more = { fallback, reals, persistence: { type: 'ip' } } as const
  const halted = (...ids: readonly string[]) =>
    config(
      more,
      [one, two].map((real) => ({ ...real, state: ids.includes(real.id) ? 'halted' : 'online' })),
    )
  let running = config(more)
  t.match(await apply(undefined, running), { ok: true })
  const table: readonly (readonly [readonly string[], string])[] = [
    [[], 'one'],
    [['r1'], 'two'],
    [['r1', 'r2'], 'sorry'],
    [['r1'], 'two'],
    [[], 'one'],
  ]
  for (const [ids, expected] of table) {
    t.match(await apply(running, halted(...ids)), { ok: true })
    running = halted(...ids)
    t.strictSame(await bodies(2), [expected, expected], `halted: ${ids.join(' ')}`)
  }
})

t.test('balance by uri chooses by the path, whatever version and host a client uses', async (t) => {
  const { apply, config, port } = await site(t)
  t.match(await apply(undefined, config({ balance: 'uri' })), { ok: true })
  const session = connectHttp2(`http://127.0.0.1:${port}`)
  t.teardown(() => session.close())
  for (let at = 0; at < 10; at++) {
    const path = `/${at}`
    const over1 = await (await fetch(`http://127.0.0.1:${port}${path}?x=1`)).text()
    const over2 = await text(session.request({ ':path': path, ':authority': 'other.test' }))
    t.equal(over2, over1, path)
  }
})

t.test('a cookie does not keep a client with a server that stands in for others', async (t) => {
  const { apply, config, bodies, port, one, two } = await site(t)
  const reals = [{ ripId: 'r1' }, { ripId: 'r2', backup: true }]
  const view = (state: 'online' | 'halted') =>
    config({ reals, persistence: { type: 'cookie', cookieName: 'STAY' } }, [{ ...one, state }, two])
  t.match(await apply(undefined, view('online')), { ok: true })
  const { body, cookie = '' } = await get(port)
  t.same([body, cookie], ['one', 'STAY=r1'])
  t.match(await apply(view('online'), view('halted')), { ok: true })
  // The cookie of the server that is gone is taken away, and none of the other one is given.
  t.same(await get(port, { cookie }), { status: 200, body: 'two', cookie: 'STAY=' })
  t.match(await apply(view('halted'), view('online')), { ok: true })
  t.same(await bodies(2, { cookie: 'STAY=r2' }), ['one', 'one'], 'a cookie from before')
})

t.test('a failed health check takes a server out; a server added at runtime is checked as well', async (t) => {
  const { apply, config, bodies, one, ask } = await site(t)
  const check = { healthCheck: { type: 'http', path: '/', expect: '200', interval: 1, rise: 1, fall: 3 } } as const
  const broken = realServer('r3', { port: await freePort() })
  await apply(undefined, config(check, [one]))
  t.match(await apply(config(check, [one]), config(check, [one, broken])), { ok: true })
  const isDown = async () => / r3 127\.0\.0\.1 0 /.test(await ask('@1 show servers state b'))
  await until('a failed check', isDown)
  t.strictSame(new Set(await bodies(6)), new Set(['one']))
})

t.test('a server that is down stays down over a reload, and comes up when it works', async (t) => {
  const { apply, config, one, ask, paths, host, folder } = await site(t)
  const check = { healthCheck: { type: 'tcp', interval: 60, rise: 1, fall: 1 } } as const
  const broken = realServer('r3', { port: await freePort() })
  // HAProxy checks the first server at once and spreads the others over the interval.
  const reals = [broken, one]
  await apply(undefined, config(check, reals))
  const stateOf = async (id: string) =>
    new RegExp(` ${id} 127\\.0\\.0\\.1 (\\d) `).exec(await ask('@1 show servers state b'))?.[1]
  await until('a failed check', async () => (await stateOf('r3')) === '0')
  t.match(await apply(undefined, config({ ...check, timeoutServer: 31 }, reals), 'reload'), { ok: true })
  t.equal(await stateOf('r3'), '0')
  t.match(await host.readFile(`${folder}/haproxy.log`), /b\/r3 is DOWN, changed from server-state after a reload/)
  t.equal(await stateOf('r1'), '2')
  t.notMatch(await host.readFile(paths.stateFile ?? ''), ' r3 ', 'stored health expires')
  const moved = [{ ...broken, port: one.port }, one]
  t.match(await apply(undefined, config({ ...check, timeoutServer: 32 }, moved), 'reload'), { ok: true })
  t.equal(await stateOf('r3'), '2', 'another address has its own health')
})

t.test('disabled frontends and backends serve nothing', async (t) => {
  const { apply, config, port } = await site(t)
  await apply(undefined, config({ enabled: false }))
  t.match(await get(port), { status: 503 }, 'a disabled backend')
  t.match(await apply(config({ enabled: false }), config({})), { ok: true })
  t.match(await get(port), { status: 200 })
  t.match(await apply(config({}), config({}, undefined, { enabled: false })), { ok: true })
  await t.rejects(get(port), { code: 'ECONNREFUSED' }, 'a disabled frontend')
  t.match(await apply(config({}, undefined, { enabled: false }), config({})), { ok: true }, 'its port is free again')
  t.match(await get(port), { status: 200 })
})

t.test('X-Forwarded-For and ranges of ports', async (t) => {
  const { apply, config, port } = await site(t)
  await apply(undefined, config({}, undefined, { forwardFor: true, maxConn: 100 }))
  t.match(await get(port), { status: 200 })
})
