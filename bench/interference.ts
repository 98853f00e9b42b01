/**
 * Whether pollers have to wait: their p99 alone, beside long exports, beside readers that stop, and beside applies of
 * many servers.
 */
import { Agent, get } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../test/fixtures/traffic.ts'
import { backfill, type BenchDaemon, createReals, memoryOf, showStat, startDaemon } from './daemon.ts'
import { latencyAt, startBare } from './load.ts'
import { median, spread, table, timed } from './measure.ts'
import { scaled } from './scale.ts'

const SERVERS = scaled(50, 4)
const MORE_SERVERS = scaled(2_000, 20)
const HISTORY_SECONDS = scaled(3_700, 100)
const PER_SECOND = scaled(400, 40)
const SECONDS = scaled(2, 1)
/** Number of measurements, in turns with a bare server, so that other load of the machine shows in both. */
const ROUNDS = scaled(3, 1)
const EXPORTS = 4
/**
 * Pause between two exports of one client and between two changes: without it the machine has no core left to measure
 * with.
 */
const PAUSE_MS = 50
const STOPPED = scaled(32, 4)

interface Site {
  readonly bench: BenchDaemon
  /** URL of a bare server on the same machine. */
  readonly bare: string
  readonly headers: Readonly<Record<string, string>>
  readonly polled: readonly (readonly [title: string, path: string])[]
  readonly exported: string
  /** Id of a real server whose weight may change. */
  readonly rip: string
}

/** Sets up 50 servers with an hour of history, and 2,000 more that only take part in applies. */
async function prepare(bench: BenchDaemon, bare: string): Promise<Site> {
  const { daemon } = bench
  const backend = async (name: string, rips: readonly string[]) => {
    const reals = rips.map((ripId) => ({ ripId }))
    const body = { name, mode: 'http', reals, healthCheck: { type: 'none' } }
    return (await daemon.data('POST', '/layer7proxy/backends', body)).id
  }
  const rips = await createReals(daemon, SERVERS)
  const fifty = await backend('fifty', rips)
  const settings = {
    name: 'fe',
    mode: 'http',
    ip: '127.0.0.1',
    ports: String(await freePort()),
    defaultBackendId: fifty,
  }
  const frontend = (await daemon.data('POST', '/layer7proxy/frontends', settings)).id
  await daemon.data('PUT', '/services/apply')
  const csv = await showStat(daemon.state)
  await daemon.kill('SIGTERM')
  await backfill(daemon.state, csv, HISTORY_SECONDS)
  await daemon.start()
  const headers = { Authorization: `Bearer ${await daemon.login()}` }
  await backend('many', await createReals(daemon, MORE_SERVERS, 'more'))
  await daemon.data('PUT', '/services/apply')
  const stats = `/api/v1/${daemon.node}/layer7proxy/stats`
  const end = Math.floor(Date.now() / 1000) - 20
  const polled = [
    ['ping', '/api/v1/ping'],
    ['live, one frontend', `${stats}/frontends/${frontend}`],
    ['history 60 s', `${stats}/frontends/${frontend}/history?start=${end - 60}&end=${end}&resolution=1`],
  ] as const
  const exported = `${stats}/rips/backend/${fifty}/history?start=${end - 3000}&end=${end}&resolution=1`
  return { bench, bare, headers, polled, exported, rip: rips[0] ?? '' }
}

/**
 * Returns the p99 of a server that has nothing else to do, which shows the machine's own share, and of every polled
 * path.
 */
async function pollers({ bench, bare, headers, polled }: Site): Promise<readonly string[]> {
  const urls = [bare, ...polled.map(([, path]) => `http://127.0.0.1:${bench.plainPort}${path}`)]
  const times_ms: number[][] = urls.map(() => [])
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, url] of urls.entries()) times_ms[at]?.push(await latencyAt({ url, headers }, PER_SECOND, SECONDS))
  }
  return times_ms.map((times) => spread(times, 2))
}

/** Starts clients that read one export after the other until stopped. */
function startExports({ bench, headers, exported }: Site) {
  const agent = new Agent({ keepAlive: true, maxSockets: EXPORTS })
  const done = { count: 0, bytes: 0, stopped: false }
  const again = (accept: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const url = `http://127.0.0.1:${bench.plainPort}${exported}`
      get(url, { agent, headers: { ...headers, accept } }, (answer) => {
        if (answer.statusCode !== 200) reject(new Error(`an export was answered with ${answer.statusCode}`))
        answer.on('data', (chunk: Buffer) => (done.bytes += chunk.length))
        answer.on('error', reject)
        answer.on('end', () => {
          done.count++
          if (done.stopped) resolve()
          else
            wait(PAUSE_MS)
              .then(() => again(accept))
              .then(resolve, reject)
        })
      }).on('error', reject)
    })
  const all = Promise.all(Array.from({ length: EXPORTS }, (_, i) => again(i % 2 === 0 ? '*/*' : 'text/csv')))
  return {
    async stop() {
      done.stopped = true
      await all
      agent.destroy()
      return done
    },
  }
}

/** Starts clients that request an export and never read it. */
async function startStopped({ bench, headers, exported }: Site): Promise<readonly Socket[]> {
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const sockets = Array.from({ length: STOPPED }, () => connect(bench.plainPort, '127.0.0.1'))
  for (const socket of sockets) {
    socket.on('error', () => undefined)
    socket.pause()
    socket.write(`GET ${exported} HTTP/1.1\r\nHost: h\r\n${head.join('')}\r\n`)
  }
  await wait(300)
  return sockets
}

/** Makes one change after another, with pauses, until stopped; `stop` returns how long each took. */
function startChanges(change: (n: number) => Promise<unknown>) {
  const times_ms: number[] = []
  let stopped = false
  const each = async () => {
    for (let n = 0; !stopped; n++) {
      times_ms.push(await timed(() => change(n)))
      await wait(PAUSE_MS)
    }
  }
  const running = each()
  return {
    async stop() {
      stopped = true
      await running
      return times_ms
    },
  }
}

export async function run(): Promise<void> {
  const bench = await startDaemon()
  const bare = await startBare(Buffer.from('{"status":"success","message":"pong"}'))
  try {
    const site = await prepare(bench, bare.url)
    const { pid } = bench.daemon
    const rows: (readonly string[])[] = [['alone', ...(await pollers(site)), '']]
    const exports = startExports(site)
    const began_ms = performance.now()
    const besideExports = await pollers(site)
    const { count, bytes } = await exports.stop()
    const rate = (1000 * count) / (performance.now() - began_ms)
    const size_mb = (bytes / count / 1e6).toFixed(1)
    rows.push([`${EXPORTS} clients that export`, ...besideExports, `${rate.toFixed(0)} exports/s of ${size_mb} MB`])
    const before_mb = memoryOf(pid).anonymous_mb
    const sockets = await startStopped(site)
    const besideStopped = await pollers(site)
    const more_mb = (memoryOf(pid).anonymous_mb - before_mb).toFixed(1)
    for (const socket of sockets) socket.destroy()
    rows.push([`${STOPPED} exports that nobody reads`, ...besideStopped, `${more_mb} MB more memory`])
    const { daemon } = bench
    const applied = async (n: number) => {
      await daemon.data('PUT', `/ipvsDirector/rips/${site.rip}`, { port: 8000, weight: 1 + (n % 200) })
      await daemon.data('PUT', '/services/apply')
    }
    for (const [title, change] of [
      ['applies at runtime', applied],
      ['reloads', () => daemon.data('PUT', '/services/layer7proxy/reload')],
    ] as const) {
      const changes = startChanges(change)
      const beside = await pollers(site)
      const times_ms = await changes.stop()
      rows.push([
        `${title}, ${SERVERS + MORE_SERVERS} servers`,
        ...beside,
        `${times_ms.length} of ${median(times_ms).toFixed(0)} ms`,
      ])
    }
    table(
      `Pollers beside other work: p99 in ms at ${PER_SECOND}/s, median and range of ${ROUNDS} rounds of ${SECONDS} s`,
      ['beside', 'a bare server', ...site.polled.map(([title]) => title), 'the other work'],
      rows,
    )
  } finally {
    bare.stop()
    await bench.stop()
  }
}

if (import.meta.main) await run()
