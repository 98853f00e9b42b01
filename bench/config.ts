/** Staging one change, and plan and apply of 10,000 real servers beside HAProxy's own check of the same file. */
import autocannon from 'autocannon'
import { createReals, runTime, startDaemon } from './daemon.ts'
import { spread, table, timed, whole } from './measure.ts'
import { stretches } from './stretches.ts'
import { freePort } from '../test/fixtures/traffic.ts'
import { scaled } from './scale.ts'

const REALS = scaled(10_000, 20)
const ROUNDS = scaled(7, 1)
const SECONDS = scaled(4, 1)

async function stageLoad(port: number, token: string, connections: number): Promise<readonly string[]> {
  let n = 0
  const result = await autocannon({
    url: `http://127.0.0.1:${port}`,
    connections,
    duration: SECONDS,
    requests: [
      {
        method: 'POST',
        path: '/api/v1/ipvsDirector/rips',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        setupRequest: (request) => {
          n += 1
          return { ...request, body: JSON.stringify({ name: `c${connections} ${n}`, ip: '127.0.0.1', port: 80 }) }
        },
      },
    ],
  })
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} refused, ${result.errors} errors`)
  const { p50, p99 } = result.latency
  return [`stage one real server, ${connections} at once`, whole(result.requests.average), `${p50}`, `${p99}`]
}

export async function run(): Promise<void> {
  const bench = await startDaemon()
  const { daemon, plainPort } = bench
  try {
    const token = await daemon.login()
    const staged = [await stageLoad(plainPort, token, 1), await stageLoad(plainPort, token, 8)]
    table('Staging (each answer is on disk)', ['request', 'requests/s', 'p50 ms', 'p99 ms'], staged)
    await daemon.data('DELETE', '/services/pending')

    const rips = await createReals(daemon, REALS)
    const reals = rips.map((ripId) => ({ ripId }))
    const backend = { name: 'big', mode: 'http', reals, healthCheck: { type: 'none' } }
    const id = (await daemon.data('POST', '/layer7proxy/backends', backend)).id
    const frontend = {
      name: 'fe',
      mode: 'http',
      ip: '127.0.0.1',
      ports: String(await freePort()),
      defaultBackendId: id,
    }
    const frontendId = (await daemon.data('POST', '/layer7proxy/frontends', frontend)).id
    const first_ms = await timed(() => daemon.data('PUT', '/services/apply'))
    const check_ms: number[] = []
    const reload_ms: number[] = []
    const runtime_ms: number[] = []
    const plan_ms: number[] = []
    for (let i = 0; i < ROUNDS; i += 1) {
      check_ms.push(await runTime(['haproxy', '-c', '-f', `${daemon.state}/haproxy/haproxy.cfg`]))
      await daemon.data('PUT', `/layer7proxy/frontends/${frontendId}`, { timeoutClient: 40 + i })
      plan_ms.push(await timed(() => daemon.data('GET', '/services/pending')))
      reload_ms.push(await timed(() => daemon.data('PUT', '/services/apply')))
      await daemon.data('PUT', `/ipvsDirector/rips/${rips[i]}`, { port: 8000, weight: 7 + i })
      runtime_ms.push(await timed(() => daemon.data('PUT', '/services/apply')))
    }
    const ratio = reload_ms.map((value, i) => value / (check_ms[i] ?? value))
    table(
      `${whole(REALS)} real servers in one backend, ${ROUNDS} rounds`,
      ['what', 'ms (range)'],
      [
        ['`haproxy -c` of the same file', spread(check_ms)],
        ['review of one pending change', spread(plan_ms)],
        ['apply of a change that reloads', spread(reload_ms)],
        ['the same as a multiple of `haproxy -c`', spread(ratio, 2)],
        ['apply of a change at run time', spread(runtime_ms)],
        ['first apply of all of them', first_ms.toFixed(0)],
      ],
    )
  } finally {
    await bench.stop()
  }
  await small()
  await stretches()
}

/** The same run-time change where most users are: a few servers. */
async function small(): Promise<void> {
  const bench = await startDaemon()
  const { daemon } = bench
  try {
    const rips = await createReals(daemon, 20)
    const reals = rips.map((ripId) => ({ ripId }))
    await daemon.data('POST', '/layer7proxy/backends', {
      name: 'small',
      mode: 'http',
      reals,
      healthCheck: { type: 'none' },
    })
    await daemon.data('PUT', '/services/apply')
    const runtime_ms: number[] = []
    const reload_ms: number[] = []
    for (let i = 0; i < 2 * ROUNDS; i += 1) {
      await daemon.data('PUT', `/ipvsDirector/rips/${rips[0]}`, { port: 8000, weight: 7 + i })
      runtime_ms.push(await timed(() => daemon.data('PUT', '/services/apply')))
    }
    for (let i = 0; i < ROUNDS; i += 1)
      reload_ms.push(await timed(() => daemon.data('PUT', '/services/layer7proxy/reload')))
    table(
      '20 real servers',
      ['what', 'ms (range)'],
      [
        ['apply of a change at run time', spread(runtime_ms)],
        ['reload', spread(reload_ms)],
      ],
    )
  } finally {
    await bench.stop()
  }
}

if (import.meta.main) await run()
