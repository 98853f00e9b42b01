/** Cost of backups of a large configuration, and their effect on pollers. */
import { get } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { signed } from '../test/fixtures/backup.ts'
import { backend, frontend, realServer } from '../test/fixtures/config.ts'
import { freePort } from '../test/fixtures/traffic.ts'
import { type BenchDaemon, memoryOf, startDaemon } from './daemon.ts'
import { latencyAt, startBare } from './load.ts'
import { spread, table, timed } from './measure.ts'
import { scaled } from './scale.ts'

const OBJECTS = scaled(10_000, 80)
const IN_USE = 50
const PER_SECOND = scaled(200, 40)
const SECONDS = scaled(3, 1)
const ROUNDS = scaled(3, 1)
const PAUSE_MS = 50
/** Number of changes from which an apply makes an automatic backup first. */
const MANY = 10

interface Site {
  readonly bench: BenchDaemon
  readonly bare: string
  readonly headers: Readonly<Record<string, string>>
  readonly polled: readonly (readonly [title: string, path: string])[]
}

/** Sets up 10,000 real servers, most of them in no backend, so that HAProxy is not what is measured. */
async function prepare(bench: BenchDaemon, bare: string): Promise<Site> {
  const { daemon } = bench
  const servers = Array.from({ length: OBJECTS }, (_, n) =>
    realServer(`web-${n}`, { ip: `127.1.${n >> 8}.${n & 255}` }),
  )
  const used = servers.slice(0, IN_USE).map(({ id }) => id)
  const { json } = await daemon.call('GET', '/backup')
  json.sections.realServers.data.realServers = servers
  json.sections.layer7proxy.data = {
    ...json.sections.layer7proxy.data,
    l7Backends: [backend('be', used)],
    l7Frontends: [frontend('fe', 'be', { ports: String(await freePort()) })],
  }
  await daemon.data('POST', '/backup/upload', { backup: signed(json) })
  const [{ file }] = (await daemon.data('GET', '/backup/list')).uploads
  await daemon.data('POST', '/backup/restore', { file, sections: ['realServers', 'layer7proxy'] })
  await daemon.data('PUT', '/services/apply')
  const headers = { Authorization: `Bearer ${await daemon.login()}` }
  const polled = [
    ['ping', '/api/v1/ping'],
    ['live, one frontend', `/api/v1/${daemon.node}/layer7proxy/stats/frontends/fe`],
  ] as const
  return { bench, bare, headers, polled }
}

/** Reads a whole backup; returns its size. */
function readBackup({ bench, headers }: Site, more: Readonly<Record<string, string>> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const url = `http://127.0.0.1:${bench.plainPort}/api/v1/backup`
    get(url, { headers: { ...headers, ...more } }, (answer) => {
      let bytes = 0
      answer.on('data', (part: Buffer) => (bytes += part.length))
      answer.on('error', reject)
      answer.on('end', () =>
        answer.statusCode === 200 ? resolve(bytes) : reject(new Error(`status ${answer.statusCode}`)),
      )
    }).on('error', reject)
  })
}

/** Measures an apply of this many changes. */
async function applied({ bench: { daemon } }: Site, count: number, weight: number): Promise<number> {
  for (let n = 0; n < count; n += 1) {
    await daemon.data('PUT', `/ipvsDirector/rips/web-${OBJECTS - 1 - n}`, { port: 8000, weight })
  }
  return timed(() => daemon.data('PUT', '/services/apply'))
}

/** Returns the peak of private memory above the level before, sampled every few milliseconds. */
async function memoryDuring(pid: number, work: () => Promise<unknown>): Promise<number> {
  const before_mb = memoryOf(pid).anonymous_mb
  let most_mb = before_mb
  const timer = setInterval(() => (most_mb = Math.max(most_mb, memoryOf(pid).anonymous_mb)), 5)
  await work()
  clearInterval(timer)
  return most_mb - before_mb
}

async function costs(site: Site): Promise<void> {
  const { pid } = site.bench.daemon
  let bytes = 0
  const rows: string[][] = []
  const row = async (title: string, work: (round: number) => Promise<number>) => {
    const times_ms: number[] = []
    const memory_mb: number[] = []
    for (let round = 0; round < 2 * ROUNDS; round += 1) {
      memory_mb.push(await memoryDuring(pid, async () => times_ms.push(await work(round))))
    }
    rows.push([title, spread(times_ms, 0), spread(memory_mb)])
  }
  await row('GET /backup', () => timed(async () => (bytes = await readBackup(site))))
  const headers = { 'X-Backup-Passphrase': 'correct horse battery' }
  await row('GET /backup under a passphrase', () => timed(() => readBackup(site, headers)))
  await row(`apply of ${MANY - 1} changes, no backup`, (round) => applied(site, MANY - 1, 10 + round))
  await row(`apply of ${MANY} changes, with an automatic backup`, (round) => applied(site, MANY, 50 + round))
  table(`Backup of ${OBJECTS} real servers, ${(bytes / 1e6).toFixed(1)} MB`, ['what', 'ms', 'MB more memory'], rows)
}

async function pollers({ bench, bare, headers, polled }: Site): Promise<readonly string[]> {
  const urls = [bare, ...polled.map(([, path]) => `http://127.0.0.1:${bench.plainPort}${path}`)]
  const times_ms: number[][] = urls.map(() => [])
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [at, url] of urls.entries()) times_ms[at]?.push(await latencyAt({ url, headers }, PER_SECOND, SECONDS))
  }
  return times_ms.map((times) => spread(times, 2))
}

/** Repeats the same work while pollers are timed. */
async function beside(site: Site, work: (round: number) => Promise<unknown>): Promise<readonly string[]> {
  let isOver = false
  let count = 0
  const all = (async () => {
    while (!isOver) {
      await work((count += 1))
      await wait(PAUSE_MS)
    }
  })()
  const times = await pollers(site)
  isOver = true
  await all
  return [...times, String(count)]
}

export async function run(): Promise<void> {
  const bench = await startDaemon()
  const bare = await startBare(Buffer.from('{"status":"success","message":"pong"}'))
  try {
    const site = await prepare(bench, bare.url)
    await costs(site)
    const rows = [
      ['nothing', ...(await pollers(site)), ''],
      ['GET /backup, one after the other', ...(await beside(site, () => readBackup(site)))],
      ['applies without a backup', ...(await beside(site, (round) => applied(site, MANY - 1, 1 + (round % 200))))],
      ['applies with an automatic one', ...(await beside(site, (round) => applied(site, MANY, 1 + (round % 200))))],
    ]
    table(
      `Pollers beside backups of ${OBJECTS} objects: p99 in ms at ${PER_SECOND}/s, median and range of ${ROUNDS} rounds of ${SECONDS} s`,
      ['beside', 'a bare server', ...site.polled.map(([title]) => title), 'times'],
      rows,
    )
  } finally {
    bare.stop()
    await bench.stop()
  }
}

if (import.meta.main) await run()
