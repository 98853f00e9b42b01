/**
 * The metrics of history beside the real requests to HAProxy: requests, answers by class, errors, the queue and times,
 * over a reload and a kill -9 of the daemon. Nothing is invented and nothing is counted twice.
 */
import { get, type ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { type Daemon, daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { freePort, httpServer } from '../fixtures/traffic.ts'

/** Answers with the status in the path; `/slow` when released. */
async function origin(test: Test) {
  const slow: ServerResponse[] = []
  const port = await httpServer(test, (request, answer) => {
    if (request.url === '/slow') slow.push(answer)
    else answer.writeHead(Number(request.url?.slice(1)), { Connection: 'close' }).end()
  })
  return { port, slow }
}

/** Sends one request on a connection of its own; returns the status. */
function ask(port: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = get({ host: '127.0.0.1', port, path, agent: false }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0))
    })
    request.on('error', reject)
  })
}

const BATCH = { 200: 10, 301: 4, 404: 3, 500: 2 } as const
const DEAD = 5

async function sendBatch(test: Test, port: number, deadPort: number): Promise<void> {
  for (const [status, count] of Object.entries(BATCH)) {
    const got = await Promise.all(Array.from({ length: count }, () => ask(port, `/${status}`)))
    if (got.some((each) => String(each) !== status)) test.fail(`${got.join()} instead of ${status}`)
  }
  const refused = await Promise.all(Array.from({ length: DEAD }, () => ask(deadPort, '/200')))
  if (refused.some((status) => status !== 503)) test.fail(`${refused.join()} without a server`)
}

interface Site {
  readonly daemon: Daemon
  readonly from: number
}

/** Returns the sum of each metric from the beginning on; undefined where nothing is known. */
async function sums({ daemon, from }: Site, path: string, metrics: readonly string[]) {
  const end = Math.floor(Date.now() / 1_000)
  const query = `start=${from}&end=${end}&resolution=1&metrics=${metrics.join()}`
  const data = await daemon.data('GET', `/${daemon.node}/layer7proxy/stats/${path}/history?${query}`)
  const { series, reals } = Array.isArray(data) ? data[0] : data
  const columns = series ?? reals[0].series
  return Object.fromEntries(
    metrics.map((metric) => {
      const known = (columns[metric] as (number | null)[]).filter((value) => value !== null)
      return [metric, known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0)]
    }),
  )
}

async function proxy(daemon: Daemon, name: string, mode: string, originPort: number, more: object = {}) {
  const rip = await daemon.data('POST', '/ipvsDirector/rips', { name: `${name}-r`, ip: '127.0.0.1', port: originPort })
  const reals = [{ ripId: rip.id, ...more }]
  const body = { name: `${name}-b`, mode, reals, healthCheck: { type: 'none' } }
  const backend = await daemon.data('POST', '/layer7proxy/backends', body)
  const ports = await freePort()
  const made = { name, mode, ip: '127.0.0.1', ports: String(ports), defaultBackendId: backend.id }
  const { id } = await daemon.data('POST', '/layer7proxy/frontends', made)
  return { port: ports, rip: String(rip.id), backend: String(backend.id), frontend: String(id) }
}

const CLASSES = ['responses1xx', 'responses2xx', 'responses3xx', 'responses4xx', 'responses5xx']
const COUNTED = ['requestRate', ...CLASSES, 'errors']

t.test('requests, answers and errors, over a reload and a kill -9, match the real numbers', async (test) => {
  const daemon = await daemonFixture(test)
  const { port } = await origin(test)
  const web = await proxy(daemon, 'web', 'http', port)
  const dead = await proxy(daemon, 'dead', 'http', await freePort())
  const plain = await proxy(daemon, 'plain', 'tcp', port)
  await daemon.data('PUT', '/services/apply')
  const site = { daemon, from: Math.floor(Date.now() / 1_000) - 5 }
  const live = `/${daemon.node}/layer7proxy/stats/frontends/${web.frontend}`
  const running = () =>
    until(
      'the first figures',
      () => daemon.data('GET', live),
      ({ status }) => status === 'OPEN',
    )
  await running()
  const ofWeb = { requestRate: 19, responses2xx: 10, responses3xx: 4, responses4xx: 3, responses5xx: 2 }
  const ofDead = { requestRate: DEAD, responses5xx: DEAD }
  const ofBatch: readonly (readonly [path: string, counts: Readonly<Record<string, number>>])[] = [
    [`frontends/${web.frontend}`, ofWeb],
    [`backends/${web.backend}`, ofWeb],
    [`rips/${web.rip}`, ofWeb],
    [`frontends/${dead.frontend}`, ofDead],
    [`backends/${dead.backend}`, { ...ofDead, errors: DEAD }],
    [`rips/${dead.rip}`, { errors: DEAD }],
    [`frontends/${plain.frontend}`, { sessionRate: 1 }],
    [`rips/${plain.rip}`, { sessionRate: 1 }],
  ]
  /** Counts that are still missing: HAProxy counts an answer a moment after its client has it. */
  const missing = async (batches: number) => {
    const found: string[] = []
    for (const [path, counts] of ofBatch) {
      const now = await sums(site, path, Object.keys(counts))
      for (const [metric, count] of Object.entries(counts))
        if ((now[metric] ?? 0) < batches * count) found.push(`${path} ${metric} ${now[metric]}`)
    }
    return found
  }
  /** Resolves when everything sent so far is stored: a pause of the daemon then loses nothing. */
  const kept = (batches: number) =>
    until(
      `${batches} batches`,
      () => missing(batches),
      ({ length }) => length === 0,
    )
  const send = async () => {
    await sendBatch(test, web.port, dead.port)
    await ask(plain.port, '/404')
  }
  await send()
  await kept(1)
  await daemon.data('PUT', '/services/layer7proxy/reload')
  await send()
  await kept(2)
  await daemon.kill('SIGKILL')
  await daemon.start()
  await daemon.login()
  await running()
  await send()
  await kept(3)

  const answered = { requestRate: 57, responses1xx: 0, responses2xx: 30, responses3xx: 12, responses4xx: 9 }
  const good = { ...answered, responses5xx: 6, errors: 0 }
  test.same(await sums(site, `frontends/${web.frontend}`, COUNTED), good, 'frontend')
  test.same(await sums(site, `backends/${web.backend}`, COUNTED), good, 'backend')
  test.same(await sums(site, `rips/${web.rip}`, COUNTED), good, 'real server')
  test.same(await sums(site, `rips/backend/${web.backend}`, COUNTED), good, 'the same through its backend')
  const refused = { requestRate: 15, responses5xx: 15 }
  test.match(await sums(site, `frontends/${dead.frontend}`, COUNTED), { ...refused, errors: 0 })
  test.match(await sums(site, `backends/${dead.backend}`, COUNTED), { ...refused, errors: 15 })
  test.match(await sums(site, `rips/${dead.rip}`, COUNTED), { errors: 15, responses5xx: 0 })
  const nobody = Object.fromEntries(CLASSES.map((metric) => [metric, undefined]))
  test.same(await sums(site, `frontends/${plain.frontend}`, CLASSES), nobody, 'a proxy in tcp mode knows no answers')
  test.same(await sums(site, `backends/${plain.backend}`, ['requestRate', ...CLASSES]), {
    requestRate: undefined,
    ...nobody,
  })
  test.match(await sums(site, `rips/${plain.rip}`, ['sessionRate', 'errors']), { sessionRate: 3, errors: 0 })
})

t.test('the queue while it lasts, and times as HAProxy reports them', async (test) => {
  const daemon = await daemonFixture(test)
  const { port, slow } = await origin(test)
  const web = await proxy(daemon, 'web', 'http', port, { maxConn: 1 })
  await daemon.data('PUT', '/services/apply')
  const stats = `/${daemon.node}/layer7proxy/stats/backends/${web.backend}`
  const from = Math.floor(Date.now() / 1_000) - 5
  const history = async (metric: string): Promise<(number | null)[]> => {
    const query = `start=${from}&end=${Math.floor(Date.now() / 1_000)}&resolution=1&consolidation=maximum&metrics=${metric}`
    return (await daemon.data('GET', `${stats}/history?${query}`)).series[metric]
  }
  await until(
    'the first figures',
    () => daemon.data('GET', stats),
    ({ status }) => status === 'UP',
  )
  const answers = Array.from({ length: 3 }, () => ask(web.port, '/slow'))
  await until(
    'two that wait',
    () => history('queue'),
    (values) => values.includes(2),
  )
  for (let n = 0; n < answers.length; n++) {
    await until(
      'the next one',
      async () => slow.length,
      (length) => length > n,
    )
    slow[n]?.writeHead(200, { Connection: 'close' }).end()
  }
  test.same(await Promise.all(answers), [200, 200, 200])
  await until(
    'an empty queue',
    () => history('queue'),
    (values) => values.at(-1) === 0,
  )
  for (const metric of ['responseTime', 'connectTime', 'totalTime']) {
    // The first reported value may be older than the last answer.
    const [told] = await until(
      `${metric} as it is told`,
      async () => [(await daemon.data('GET', stats))[metric], (await history(metric)).at(-1)],
      ([now, kept]) => kept === now,
    )
    if (metric !== 'connectTime') test.ok(told > 0, `${metric}: ${told} ms`)
  }
})
