/** Staging of one change, applies of very many and of few real servers, and how long other callers wait for them. */
import autocannon from 'autocannon'
import { applies } from './applies.ts'
import { createReals, startDaemon } from './daemon.ts'
import { spread, table, timed, whole } from './measure.ts'
import { stretches } from './stretches.ts'
import { scaled } from './scale.ts'

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
  } finally {
    await bench.stop()
  }
  await applies()
  await small()
  await stretches()
}

/** Measures the same run-time change at the size of most installations: a few servers. */
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
        ['apply of a change at runtime', spread(runtime_ms)],
        ['reload', spread(reload_ms)],
      ],
    )
  } finally {
    await bench.stop()
  }
}

if (import.meta.main) await run()
