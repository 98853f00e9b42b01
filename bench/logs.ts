/**
 * Access logs: HAProxy's throughput while its lines are read, the cost of that, also when they are forwarded to
 * rsyslog, the size of a line, and the time of searches. FULCRUM_BENCH_LINES is the number of lines searched
 * (3,000,000).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { LOG_RING, logStatements, ringStatements } from '../src/drivers/haproxy/access-log.ts'
import type { Filter } from '../storage/logs/filter.ts'
import type { LogRow } from '../storage/logs/row.ts'
import { count, type Search, search } from '../storage/logs/search.ts'
import { LogStore, SEGMENT_ROWS } from '../storage/logs/store.ts'
import { certificateMaker } from '../test/fixtures/certificate-maker.ts'
import { frontend } from '../test/fixtures/config.ts'
import type { Ending } from '../test/fixtures/folder.ts'
import { logRow } from '../test/fixtures/log-rows.ts'
import { noRsyslog, rsyslog } from '../test/fixtures/rsyslog.ts'
import { freePort } from '../test/fixtures/traffic.ts'
import { ask } from '../test/system/plain-haproxy.ts'
import { until } from '../test/fixtures/until.ts'
import type { FromLogThread, LogsOptions, LogsPage } from '../workers/logs/messages.ts'
import { throughput, timesAt } from './load.ts'
import { processorTime_ms, table, timed, whole } from './measure.ts'
import { scaled } from './scale.ts'

const SECONDS = scaled(10, 1)
const STEADY = scaled(5_000, 200)
const LINES = Number(process.env['FULCRUM_BENCH_LINES'] ?? scaled(3_000_000, 20_000))
const LIMITS = { bytes_max: 2 ** 40, age_ms: 2 ** 50 }

export async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  const endings: (() => unknown)[] = []
  try {
    await measureReading(folder, { teardown: (work) => void endings.push(work) })
    await measureStore(join(folder, 'store'))
  } finally {
    for (const work of endings) await work()
    rmSync(folder, { recursive: true, force: true })
  }
}

type Ports = Readonly<Record<'logged' | 'forwarded' | 'silent', number>>

function configuration(folder: string, ports: Ports): string {
  const statements = (name: string, target: 'store' | 'both') =>
    logStatements(frontend(name, null, { logs: { enabled: true, headers: ['User-Agent'], target } }))
  const answer = 'http-request return status 200 content-type text/plain string ok'
  const site = (name: string, port: number, lines: readonly string[]) =>
    [`frontend ${name}`, `bind 127.0.0.1:${port}`, ...lines, answer].join('\n')
  return [
    `global\nstats socket ${folder}/stats.sock mode 600 level admin expose-fd listeners`,
    'defaults\nmode http\ntimeout connect 5s\ntimeout client 30s\ntimeout server 30s',
    ...ringStatements,
    site('logged', ports.logged, statements('logged', 'store')),
    site('forwarded', ports.forwarded, statements('forwarded', 'both')),
    site('silent', ports.silent, []),
    '',
  ].join('\n')
}

/** Starts a syslog server on the same cores that receives lines over TLS. */
async function startServer(ending: Ending) {
  if (noRsyslog !== false) return undefined
  const { pair } = certificateMaker(ending)
  const root = pair({ name: 'collectors', isCa: true })
  const server = await rsyslog(ending, { own: pair({ name: 'localhost', issuer: root }), ca: root.cert })
  const address = { host: 'localhost', port: server.port, tls: { ca: root.cert, own: undefined } }
  return { ...server, address }
}

async function measureReading(folder: string, ending: Ending): Promise<void> {
  const server = await startServer(ending)
  const ports = { logged: await freePort(), forwarded: await freePort(), silent: await freePort() }
  writeFileSync(join(folder, 'haproxy.cfg'), configuration(folder, ports))
  const [masterSocket, statsSocket] = [join(folder, 'master.sock'), join(folder, 'stats.sock')]
  const argv = ['-W', '-db', '-S', masterSocket, '-f', join(folder, 'haproxy.cfg')]
  const haproxy = spawn('haproxy', argv, { stdio: 'ignore' })
  const options: LogsOptions = {
    directory: join(folder, 'logs'),
    limits: LIMITS,
    source: { masterSocket, statsSocket, ring: LOG_RING },
    forwarding: { address: server?.address, names: NO_NAMES },
  }
  await until(
    'HAProxy',
    () => ask(statsSocket, 'show info').catch(() => ''),
    (answer) => answer !== '',
  )
  const thread = new Worker(new URL('../workers/logs.ts', import.meta.url), { workerData: options })
  try {
    const target = (port: number) => ({ url: `http://127.0.0.1:${port}/shop/item?id=4711`, headers: {} })
    const without = await throughput(target(ports.silent), SECONDS)
    const most = await throughput(target(ports.logged), SECONDS)
    await sleep(1_500)
    const lostAtMost = lostOf(await pageOf(thread))
    let answers = 0
    const steady = async (port: number): Promise<readonly string[]> => {
      const before = lostOf(await pageOf(thread))
      const began_ms = processorTime_ms()
      const took_ms = await timed(async () => (answers = (await timesAt(target(port), STEADY, SECONDS)).length))
      const used_ms = processorTime_ms() - began_ms
      await sleep(1_500)
      return [
        whole(STEADY),
        whole(lostOf(await pageOf(thread)) - before),
        `${((used_ms / took_ms) * 100).toFixed(1)} %`,
      ]
    }
    const rows = [
      ['without a log', whole(without), '', ''],
      ['at full speed', whole(most), whole(lostAtMost), ''],
      ['at a steady rate', ...(await steady(ports.logged))],
      ['the same, without a log', ...(await steady(ports.silent))],
    ]
    if (server !== undefined) {
      rows.push(['the same, forwarded by TLS as well', ...(await steady(ports.forwarded))])
      rows.push([`… of ${whole(answers)} answers, rsyslog has written`, whole(server.count()), '', ''])
    }
    const head = ['', 'requests/s', 'lines lost', 'share of a core']
    table('HAProxy, the load and the log thread on the same cores', head, rows)
  } finally {
    const ended = [once(haproxy, 'exit'), once(thread, 'exit')]
    thread.postMessage({ type: 'stop' })
    haproxy.kill()
    await Promise.all(ended)
  }
}

const NO_NAMES = { l7Frontends: new Map(), l7Backends: new Map(), realServers: new Map() }
const lostOf = ({ losses }: LogsPage): number => Object.values(losses).reduce((sum, lines) => sum + lines, 0)

async function pageOf(thread: Worker): Promise<LogsPage> {
  thread.postMessage({ type: 'search', request: 1, filter: {}, limit: 1, after: undefined })
  for (;;) {
    // Sound: the thread sends nothing else.
    const [message] = (await once(thread, 'message')) as [FromLogThread]
    if (message.type === 'page') return message.answer
    console.error(message)
  }
}

/** Returns a number below `most` for this line and field. Nothing is random, so that each run has the same lines. */
function number(at: number, field: number, most: number): number {
  let mixed = Math.imul(at ^ Math.imul(field, 0x9e37_79b1), 0x85eb_ca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35)
  return ((mixed ^ (mixed >>> 16)) >>> 0) % most
}

/** Returns a line whose fields are unrelated, which is the worst case for its size; one in 500 fails. */
function lineAt(at: number): LogRow {
  const response_ms = number(at, 1, 90)
  return logRow({
    at_ms: 1_800_000_000_000 + Math.floor(at / 5) + number(at, 2, 3),
    frontend: `site-${number(at, 3, 7)}`,
    server: `server-${number(at, 4, 24)}`,
    source: `198.51.${number(at, 5, 64)}.${number(at, 6, 256)}`,
    sourcePort: 1_024 + number(at, 7, 60_000),
    path: `/shop/${number(at, 8, 300)}/item?id=${number(at, 9, 20_000)}`,
    status: at % 500 === 0 ? 503 : 200,
    bytesOut: 200 + number(at, 10, 50_000),
    bytesIn: 300 + number(at, 11, 400),
    response_ms,
    total_ms: response_ms + (at % 9_999 === 0 ? 5_000 : 3),
    headers: JSON.stringify({ 'User-Agent': `Browser/${number(at, 12, 150)}` }),
  })
}

function filled(folder: string): LogStore {
  const store = new LogStore(folder, LIMITS)
  for (let at = 0; at < LINES; at += 8_192) {
    const rows = Array.from({ length: Math.min(8_192, LINES - at) }, (_, more) => lineAt(at + more))
    store.append(rows, {})
    store.tidy(rows[0]?.at_ms ?? 0, {})
  }
  return store
}

const finish = (work: Search<unknown>): void => {
  while (work.next().done !== true);
}

async function measureStore(folder: string): Promise<void> {
  let store: LogStore | undefined
  const took_ms = await timed(() => (store = filled(folder)))
  if (store === undefined) return
  const closed = store
  const bytes = closed.segments.reduce((sum, segment) => sum + segment.bytes, 0)
  const lines = closed.segments.length * SEGMENT_ROWS
  const searches: readonly (readonly [what: string, filter: Filter])[] = [
    ['the newest 100', {}],
    ['a status, first 100', { statuses: { from: 503, to: 503 } }],
    ['a status that never occurs', { statuses: { from: 404, to: 404 } }],
    ['a source, first 100', { source: '198.51.7.9' }],
    ['a path that never occurs', { path: '/admin' }],
    ['slower than 5 s, first 100', { slowerThan_ms: 5_000 }],
  ]
  const rows: string[][] = []
  for (const [what, filter] of searches)
    rows.push([what, `${whole(await timed(() => finish(search(closed, filter, 100))))} ms`])
  rows.push(['counts of all', `${whole(await timed(() => finish(count(closed, {}, 10))))} ms`])
  const perLine = lines === 0 ? 'none closed' : `${(bytes / lines).toFixed(1)} bytes kept per line`
  table(
    `${whole(LINES)} lines, ${perLine}, ${whole((took_ms * 1_000) / LINES)} µs to make and keep each`,
    ['search', 'takes'],
    rows,
  )
  closed.close()
}
