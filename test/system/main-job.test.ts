import { readFileSync } from 'node:fs'
import t from 'tap'
import { type Daemon, daemonFixture } from '../fixtures/daemon.ts'
import { killIfAlive } from '../fixtures/kill.ts'
import { until } from '../fixtures/until.ts'
import { fetchOnce, freePort, type Origin, startOrigin } from '../fixtures/traffic.ts'

interface Setup {
  readonly rips: readonly string[]
  readonly backend: string
  readonly frontend: string
  readonly port: number
}

/** Creates two origins behind one backend and one frontend through the API, and applies them. */
async function setUp(daemon: Daemon, origins: readonly Origin[], mode: 'http' | 'tcp'): Promise<Setup> {
  const rips: string[] = []
  for (const { name, port } of origins) {
    rips.push((await daemon.data('POST', '/ipvsDirector/rips', { name, ip: '127.0.0.1', port })).id)
  }
  const port = await freePort()
  const reals = rips.map((ripId) => ({ ripId }))
  const healthCheck = { type: 'none' }
  const backend = (await daemon.data('POST', '/layer7proxy/backends', { name: 'be', mode, reals, healthCheck })).id
  const settings = { name: 'fe', mode, ip: '127.0.0.1', ports: String(port), defaultBackendId: backend }
  const frontend = (await daemon.data('POST', '/layer7proxy/frontends', settings)).id
  await daemon.data('PUT', '/services/apply')
  return { rips, backend, frontend, port }
}

const sum = (values: readonly (number | null)[]) => values.reduce<number>((total, value) => total + (value ?? 0), 0)

interface Totals {
  readonly sessions: number
  readonly bytesIn: number
  readonly bytesOut: number
}
function totals(series: Readonly<Record<string, readonly (number | null)[]>>, resolution: number): Totals {
  const of = (metric: string) => sum(series[metric] ?? []) * resolution
  return { sessions: of('sessionRate'), bytesIn: of('bytesIn'), bytesOut: of('bytesOut') }
}

/**
 * Returns the history at one second from `start` until now, once it has the expected count. HAProxy counts the bytes of
 * an answer after its client has them, so the last ones may be in the next second.
 */
async function historyTotals(daemon: Daemon, path: string, start: number, expected: Partial<Totals>): Promise<Totals> {
  const read = async () => {
    const end = Math.floor(Date.now() / 1000) + 1
    const data = await daemon.data(
      'GET',
      `/${daemon.node}/layer7proxy/stats/${path}/history?start=${start}&end=${end}&resolution=1`,
    )
    return totals(data.series, data.resolution)
  }
  const { sessions = 0, bytesIn = 0, bytesOut = 0 } = expected
  const isCounted = (found: Totals) =>
    found.sessions >= sessions && found.bytesIn >= bytesIn && found.bytesOut >= bytesOut
  return until(`${JSON.stringify(expected)} in the history of ${path}`, read, isCounted)
}

t.test('sixty requests are spread over both origins and counted exactly, live and in history', async (test) => {
  const daemon = await daemonFixture(test)
  const origins = [await startOrigin(test, 'one'), await startOrigin(test, 'two')]
  const start = Math.floor(Date.now() / 1000) - 1
  const setup = await setUp(daemon, origins, 'tcp')

  let sent_bytes = 0
  let received_bytes = 0
  for (let i = 0; i < 60; i += 1) {
    const fetched = await fetchOnce(setup.port)
    sent_bytes += fetched.sent_bytes
    received_bytes += fetched.received_bytes
  }
  test.same(
    origins.map((origin) => origin.served),
    [30, 30],
  )

  const exact = { sessions: 60, bytesIn: sent_bytes, bytesOut: received_bytes }
  test.same(await historyTotals(daemon, `frontends/${setup.frontend}`, start, exact), exact)
  test.same(await historyTotals(daemon, `backends/${setup.backend}`, start, exact), exact)
  const live = await daemon.data('GET', `/${daemon.node}/layer7proxy/stats/frontends`)
  test.match(live, [
    {
      id: setup.frontend,
      name: 'fe',
      status: 'OPEN',
      totalSessions: 60,
      bytesIn: sent_bytes,
      bytesOut: received_bytes,
    },
  ])

  // The second of the last count may not be over.
  const end = Math.floor(Date.now() / 1000) + 1
  const query = `start=${start}&end=${end}&resolution=1`
  const perBackend = await daemon.data(
    'GET',
    `/${daemon.node}/layer7proxy/stats/rips/backend/${setup.backend}/history?${query}`,
  )
  test.same(
    perBackend.reals.map((real: { series: never }) => totals(real.series, 1).sessions),
    [30, 30],
  )
  const [first] = await daemon.data('GET', `/${daemon.node}/layer7proxy/stats/rips/${setup.rips[0]}/history?${query}`)
  test.match(first, { backendId: setup.backend, backendName: 'be', resolution: 1 })
  test.equal(totals(first.series, 1).sessions, 30)
})

t.test('halt moves all traffic, drain keeps open connections, online brings traffic back', async (test) => {
  const daemon = await daemonFixture(test)
  const origins = [await startOrigin(test, 'one'), await startOrigin(test, 'two')]
  const { rips, port } = await setUp(daemon, origins, 'http')
  const servedBy = async (count: number) => {
    const before = origins.map((origin) => origin.served)
    for (let i = 0; i < count; i += 1) await fetchOnce(port)
    return origins.map((origin, i) => origin.served - (before[i] ?? 0))
  }
  test.same(await servedBy(10), [5, 5])

  await daemon.data('PUT', `/ipvsDirector/rips/${rips[0]}/halt`)
  test.same(await servedBy(10), [5, 5], 'only staged: nothing has moved')
  test.same(await daemon.data('GET', '/ipvsDirector/rips/hanging'), [rips[0]])
  test.match(await daemon.data('GET', '/services/pending'), {
    count: 1,
    changes: [{ effect: 'runtime', services: ['layer7proxy'] }],
  })
  await daemon.data('PUT', '/services/apply')
  test.same(await servedBy(10), [0, 10])
  test.same(await daemon.data('GET', '/ipvsDirector/rips/hanging'), [])

  await daemon.data('PUT', `/ipvsDirector/rips/${rips[0]}/online`)
  await daemon.data('PUT', `/ipvsDirector/rips/${rips[1]}/drain`)
  await daemon.data('PUT', '/services/apply')
  test.same(await servedBy(10), [10, 0])

  await daemon.data('PUT', `/ipvsDirector/rips/${rips[1]}/online`)
  await daemon.data('PUT', '/services/apply')
  test.same(await servedBy(10), [5, 5])
})

t.test('a real server reports whether its checks pass', async (test) => {
  const daemon = await daemonFixture(test)
  const origin = await startOrigin(test, 'one')
  const rip = async (name: string, port: number) =>
    String((await daemon.data('POST', '/ipvsDirector/rips', { name, ip: '127.0.0.1', port })).id)
  const up = await rip('up', origin.port)
  const down = await rip('down', await freePort())
  const unused = await rip('unused', 1)
  const reals = [up, down].map((ripId) => ({ ripId }))
  const healthCheck = { type: 'tcp', interval: 1, fall: 1 }
  await daemon.data('POST', '/layer7proxy/backends', { name: 'be', mode: 'tcp', reals, healthCheck })
  await daemon.data('PUT', '/services/apply')
  const health = async () => {
    const list: { id: string; health: string }[] = await daemon.data('GET', '/ipvsDirector/rips')
    return new Map(list.map((entry) => [entry.id, entry.health]))
  }
  const found = await until('the checks', health, (seen) => seen.get(up) === 'up' && seen.get(down) === 'down')
  test.equal(found.get(unused), 'unknown')
})

t.test(
  'kill -9 and restart: traffic, configuration and history stay, at most the current second is lost',
  async (test) => {
    const daemon = await daemonFixture(test)
    const origins = [await startOrigin(test, 'one'), await startOrigin(test, 'two')]
    const start = Math.floor(Date.now() / 1000) - 1
    const { frontend, port, rips } = await setUp(daemon, origins, 'http')
    for (let i = 0; i < 20; i += 1) await fetchOnce(port)
    await historyTotals(daemon, `frontends/${frontend}`, start, { sessions: 20 })
    await daemon.data('PUT', `/ipvsDirector/rips/${rips[1]}`, { port: origins[1]?.port, weight: 50 })
    const configured = await daemon.data('GET', '/layer7proxy/frontends')
    const pending = await daemon.data('GET', '/services/pending')

    await daemon.kill('SIGKILL')
    for (let i = 0; i < 20; i += 1) await fetchOnce(port)
    await daemon.start()
    await daemon.login()
    // Counts from a silence of more than five seconds are in no second, and a busy machine may take as long to start.
    const live = () => daemon.data('GET', `/${daemon.node}/layer7proxy/stats/frontends/${frontend}`)
    await until('live figures', live, ({ status }: { status: string }) => status === 'OPEN')
    for (let i = 0; i < 20; i += 1) await fetchOnce(port)

    test.same(await daemon.data('GET', '/layer7proxy/frontends'), configured)
    test.same(await daemon.data('GET', '/services/pending'), pending)
    const counted = await historyTotals(daemon, `frontends/${frontend}`, start, { sessions: 40 })
    test.ok(counted.sessions >= 40 && counted.sessions <= 60, `${counted.sessions} sessions`)
    const total = await until(
      'live figures of all sixty requests',
      live,
      (figures: { status: string; totalSessions: number | null }) => figures.totalSessions === 60,
    )
    test.equal(total.status, 'OPEN', 'the same HAProxy was adopted')
  },
)

t.test(
  'HAProxy killed: the API answers, live figures show it, history holds null, and it is restarted',
  async (test) => {
    const daemon = await daemonFixture(test)
    const origins = [await startOrigin(test, 'one'), await startOrigin(test, 'two')]
    const { frontend, port } = await setUp(daemon, origins, 'http')
    await fetchOnce(port)
    const stats = `/${daemon.node}/layer7proxy/stats/frontends/${frontend}`
    await until(
      'live figures',
      () => daemon.data('GET', stats),
      (figures: { status: string }) => figures.status === 'OPEN',
    )

    const start = Math.floor(Date.now() / 1000) - 5
    const killMaster = () => killIfAlive(Number(readFileSync(`${daemon.state}/haproxy/haproxy.pid`, 'utf8')))
    killMaster()
    const down = await until(
      'figures that say HAProxy is down',
      () => daemon.call('GET', stats),
      (answer) => {
        if (answer.json.data.status === 'UNKNOWN') return true
        // On a slow machine it may run again before anybody has looked.
        killMaster()
        return false
      },
    )
    test.equal(down.status, 200)
    test.match(down.json.data, { id: frontend, currentSessions: null, totalSessions: null })
    test.match(down.json.message, /since/)

    await until(
      'HAProxy to be started again',
      () => daemon.data('GET', stats),
      (figures: { status: string }) => figures.status === 'OPEN',
    )
    await fetchOnce(port)
    const end = Math.floor(Date.now() / 1000)
    const history = await daemon.data(
      'GET',
      `${stats}/history?start=${start}&end=${end}&resolution=1&metrics=currentSessions`,
    )
    test.ok(history.series.currentSessions.includes(null), 'the seconds without HAProxy are unknown')
    test.ok(history.series.currentSessions.some((value: number | null) => value !== null))
  },
)
