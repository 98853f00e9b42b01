import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../fixtures/folder.ts'
import { Daemon } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { fetchOnce, freePort } from '../fixtures/traffic.ts'
import { names, observer, sessionsOf, site, stats, upAgain } from './observed-site.ts'
import { ask, recordingProxy } from './plain-haproxy.ts'

t.test('discovered, counted, and left unchanged', { timeout: 1_800_000 }, async (test) => {
  const { haproxy, port } = await site(test)
  await haproxy.start()
  const proxied = join(temporaryFolder(test, 'proxy'), 's')
  const { lines: sent } = await recordingProxy(test, proxied, haproxy.statsSocket)
  const state = () =>
    Promise.all([
      // All but the seconds since the last change.
      restingServers(haproxy.statsSocket).then((rows) => rows.map((cells) => cells.toSpliced(9, 1).join(' '))),
      ask(haproxy.statsSocket, 'show info').then((text) => /^Pid: .*$/m.exec(text)?.[0]),
      // The objects without their counters: names, states, weights, limits.
      ask(haproxy.statsSocket, 'show stat').then((text) =>
        text.split('\n').map((line) => [0, 1, 6, 17, 18, 32].map((column) => line.split(',')[column]).join()),
      ),
      Promise.resolve(readFileSync(haproxy.configFile, 'utf8')),
    ])
  await until('checks', state, ([, , rows]) => rows.some((row) => row.includes('web-1') && row.includes(',UP,')))
  const before = await state()

  const daemon = await observer(test, proxied)
  const all = await upAgain(daemon)
  test.same(names(all.frontends), ['www:main.1'])
  test.same(names(all.backends), ['shop', 'blog'])
  test.same(
    all.reals.map((real: { name: string; backendName: string }) => `${real.backendName}/${real.name}`),
    ['shop/web-1', 'shop/web-2', 'blog/web-1'],
  )
  test.equal(new Set(all.reals.map(({ id }: { id: string }) => id)).size, 3, 'a server belongs to its backend')
  for (let i = 0; i < 10; i++) await fetchOnce(port)
  const [frontend] = all.frontends
  const [shop, blog] = all.backends
  const paths = [`/frontends/${frontend.id}`, `/backends/${shop.id}`, `/rips/${all.reals[0].id}`]
  await until(
    'ten sessions',
    () => Promise.all(paths.map((path) => sessionsOf(daemon, path))),
    ([atFrontend = 0, atBackend = 0, atFirst = 0]) => atFrontend >= 10 && atBackend >= 10 && atFirst >= 5,
  )
  test.equal(await sessionsOf(daemon, `/frontends/${frontend.id}`), 10)
  test.equal(await sessionsOf(daemon, `/backends/${shop.id}`), 10)
  test.equal(await sessionsOf(daemon, `/backends/${blog.id}`), 0)
  test.equal(await sessionsOf(daemon, `/rips/${all.reals[0].id}`), 5)
  const group = await stats(daemon, `/rips/backend/${shop.id}`)
  test.same(
    group.map((real: { totalSessions: number }) => real.totalSessions),
    [5, 5],
  )

  const metrics = (await daemon.call('GET', '/metrics')).text
  test.match(
    metrics,
    /^fulcrum_layer7_server_up\{backend_id="[^"]+",backend="shop",server_id="[^"]+",server="web-1"\} 1$/m,
  )
  test.match(metrics, /^fulcrum_layer7_frontend_sessions_total\{.*,frontend="www:main\.1"\} 10$/m)
  test.match((await daemon.data('GET', '/overview')).layer7, { frontends: { total: 1, up: 1 }, reals: { total: 3 } })

  await refusals(test, daemon, all.reals[0].id)
  test.same(await state(), before, 'HAProxy is unchanged')
  const commands = new Set(sent.flatMap((line) => line.split(';').map((command) => command.trim())))
  test.same([...commands].toSorted(), ['show info', 'show proc', 'show stat'])
  test.same(
    readdirSync(daemon.state).toSorted(),
    ['api.sock', 'archive', 'audit', 'config', 'lock', 'tls', 'token-key.pem'],
    'no configuration, no process',
  )
  await daemon.kill('SIGTERM')
  test.same(await state(), before, 'and stays so when the daemon ends')
})

/** Returns the cells of `show servers state` between two checks of the checked server. */
function restingServers(socket: string): Promise<readonly (readonly string[])[]> {
  const [STATUS, STATE, L4_OK, UNDER_WAY] = [10, 13, '6', 1]
  return until(
    'checks',
    async () => (await ask(socket, 'show servers state')).split('\n').map((line) => line.split(' ')),
    (rows) => rows.some((cells) => cells[STATUS] === L4_OK) && !rows.some((cells) => Number(cells[STATE]) & UNDER_WAY),
  )
}

async function refusals(test: Test, daemon: Daemon, id: string): Promise<void> {
  const real = { name: 'x', ip: '127.0.0.1', port: 1 }
  const tries: readonly (readonly [method: string, path: string, body?: unknown])[] = [
    ['POST', '/ipvsDirector/rips', real],
    ['PUT', `/ipvsDirector/rips/${id}`, { port: 1 }],
    ['DELETE', `/ipvsDirector/rips/${id}`],
    ['PUT', `/ipvsDirector/rips/${id}/drain`],
    ['PUT', `/ipvsDirector/rips/${id}/halt`],
    ['PUT', `/ipvsDirector/rips/${id}/online`],
    ['POST', '/layer7proxy/frontends', { name: 'x', mode: 'http', ip: '127.0.0.1', ports: '1' }],
    ['POST', '/layer7proxy/backends', { name: 'x', mode: 'http' }],
    ['PUT', '/services/layer7proxy/reload'],
    ['PUT', '/services/layer7proxy/restart'],
    ['PUT', '/services/layer7proxy/update'],
    ['PUT', '/services/apply?force=restart'],
  ]
  for (const [method, path, body] of tries) {
    const { status, json } = await daemon.call(method, path, body === undefined ? {} : { body })
    test.match({ status, json }, { status: 501, json: { code: 'NOT_SUPPORTED', message: /only observes.*--observe/ } })
  }
  test.same(await daemon.data('GET', '/services'), [])
  test.same(await daemon.data('GET', '/layer7proxy/frontends'), [])
  test.same(await daemon.data('GET', '/ipvsDirector/rips'), [])
  test.equal((await daemon.data('GET', '/services/pending')).count, 0)
  await daemon.data('POST', '/rbac/groups', { name: 'watchers', id: 'watchers' })
  await daemon.data('PUT', '/services/apply')
  test.equal(
    (await daemon.data('GET', '/services/pending')).count,
    0,
    'changes that concern only the daemon are applied',
  )
}

t.test(
  'HAProxy comes late, reloads, drops a backend, is killed, and comes back',
  { timeout: 1_800_000 },
  async (test) => {
    const { haproxy, port, proxies } = await site(test, 'level user')
    haproxy.configure(proxies('backend spare\n  server s 127.0.0.1:1\n'))
    const daemon = await observer(test, haproxy.statsSocket)
    const nothing = await daemon.call('GET', `/${daemon.node}/layer7proxy/stats`)
    await until(
      'a line in the log',
      async () => daemon.stderr,
      (text) => text.includes('its socket does not exist'),
    )
    test.match(nothing.json, {
      message: /not (answered|been queried)/,
      data: { frontends: [], backends: [], reals: [] },
    })
    await haproxy.start()
    const all = await upAgain(daemon)
    test.same(names(all.backends), ['shop', 'blog', 'spare'])
    const spare = all.backends[2]
    await fetchOnce(port)
    const www = `/frontends/${all.frontends[0].id}`
    await until(
      'a session',
      () => sessionsOf(daemon, www),
      (sum) => sum === 1,
    )

    haproxy.configure(proxies())
    await haproxy.reload()
    const fewer = await until(
      'the reload',
      () => stats(daemon),
      ({ backends }) => backends.length === 2,
    )
    test.same(fewer.frontends[0].id, all.frontends[0].id)
    test.match(await stats(daemon, `/backends/${spare.id}`), {
      id: spare.id,
      name: 'spare',
      status: 'UNKNOWN',
      scur: undefined,
    })
    test.equal(await sessionsOf(daemon, `/backends/${spare.id}`), 0, 'its history stays')
    const gone = all.reals.find(({ backendName }: { backendName: string }) => backendName === 'spare')
    test.match(await stats(daemon, `/rips/${gone.id}`), [{ name: 's', status: 'UNKNOWN' }])
    test.match(await stats(daemon, `/rips/backend/${spare.id}`), [{ id: gone.id }])

    await haproxy.stop('SIGKILL')
    const down = await until(
      'that it is gone',
      () => stats(daemon),
      ({ frontends }) => frontends[0]?.status === 'UNKNOWN',
    )
    test.same(names(down.backends), ['shop', 'blog'], 'the last known backends are still listed')
    await haproxy.start()
    await upAgain(daemon)
    await fetchOnce(port)
    await until(
      'another session',
      () => sessionsOf(daemon, www),
      (sum) => sum === 2,
    )
    // A restart of the daemon without HAProxy: the same ids, the same history.
    await haproxy.stop()
    await daemon.kill('SIGTERM')
    const again = await observer(test, haproxy.statsSocket, daemon.state)
    test.equal(await sessionsOf(again, www), 2)
    test.equal((await again.call('GET', `/${again.node}/layer7proxy/stats/frontends/${'0'.repeat(8)}`)).status, 404)
  },
)

t.test('a master socket and a TCP port are recognised', { timeout: 1_800_000 }, async (test) => {
  const tcp = await freePort()
  const { haproxy, port, proxies } = await site(test, `level operator\n  stats socket ipv4@127.0.0.1:${tcp} level user`)
  haproxy.configure(proxies('backend MASTER\n  server db 127.0.0.1:9\n'))
  await haproxy.start()
  const master = await observer(test, haproxy.masterSocket)
  const process = await observer(test, `ipv4@127.0.0.1:${tcp}`)
  const [one, other] = [await upAgain(master), await upAgain(process)]
  test.same(names(one.backends), ['shop', 'blog', 'MASTER'], 'a name that HAProxy uses itself hides nothing')
  test.same(
    one.reals.map(({ id }: { id: string }) => id),
    other.reals.map(({ id }: { id: string }) => id),
    'the same ids on every node',
  )
  await fetchOnce(port)
  for (const daemon of [master, process]) {
    await until(
      'a session',
      () => sessionsOf(daemon, `/frontends/${one.frontends[0].id}`),
      (sum) => sum === 1,
    )
  }
})

t.test('a state folder with its own configuration is refused with one line', { timeout: 1_800_000 }, async (test) => {
  const first = new Daemon(temporaryFolder(test, 'observer'), ['--no-demo'])
  test.teardown(() => first.end())
  await first.start()
  await first.login()
  await first.data('POST', '/ipvsDirector/rips', { name: 'x', ip: '127.0.0.1', port: 1 })
  await first.kill('SIGTERM')
  const second = new Daemon(first.state, ['--observe', '/nonexistent'])
  await test.rejects(second.start(), { message: /ended with 2: fulcrum: --observe: the state folder .*--state\n$/ })
})
