/** Requests per second and p99 of the front, beside a bare uWebSockets.js server that answers the same bytes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { get } from 'node:http'
import { freePort } from '../test/fixtures/traffic.ts'
import { backfill, type BenchDaemon, createReals, showStat, startDaemon } from './daemon.ts'
import { latencyAt, startBare, type Target, throughput } from './load.ts'
import { median, spread, table, whole } from './measure.ts'
import { scaled } from './scale.ts'

const ROUNDS = scaled(4, 1)
const SECONDS = scaled(2, 1)
const BIG_BACKEND = scaled(76, 4)
const HISTORY_SECONDS = scaled(3900, 100)

interface Case {
  readonly title: string
  readonly target: Target
  readonly body: Uint8Array
}

async function configure({
  daemon,
}: BenchDaemon): Promise<{ readonly frontend: string; readonly small: string; readonly big: string }> {
  const rips = await createReals(daemon, BIG_BACKEND)
  const backend = async (name: string, members: readonly string[]) => {
    const reals = members.map((ripId) => ({ ripId }))
    return (
      await daemon.data('POST', '/layer7proxy/backends', { name, mode: 'http', reals, healthCheck: { type: 'none' } })
    ).id
  }
  const small = await backend('small', rips.slice(0, 3))
  const big = await backend('big', rips)
  const settings = { name: 'fe', mode: 'http', ip: '127.0.0.1', ports: String(await freePort()), defaultBackendId: big }
  const frontend = (await daemon.data('POST', '/layer7proxy/frontends', settings)).id
  await daemon.data('PUT', '/services/apply')
  return { frontend, small, big }
}

async function measure({ target, body, title }: Case): Promise<readonly string[]> {
  const bare = await startBare(body)
  const ours: number[] = []
  const limits: number[] = []
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      limits.push(await throughput({ url: bare.url, headers: {} }, SECONDS))
      ours.push(await throughput(target, SECONDS))
    }
  } finally {
    bare.stop()
  }
  const ratios = ours.map((value, i) => value / (limits[i] ?? value))
  const half = median(ours) / 2
  const p99_ms = await latencyAt(target, half, SECONDS)
  return [
    title,
    `${body.length}`,
    whole(median(ours)),
    whole(median(limits)),
    spread(ratios, 2),
    `${p99_ms.toFixed(2)} at ${whole(half)}/s`,
  ]
}

/**
 * Each request asks for another window of about `seconds` in the last hour: starts and ends go round in cycles without
 * a common divisor, so thousands of requests go by before one is made again, and no answer is kept until then.
 */
function rollingScript(path: string, end: number, seconds: number): string {
  const [starts, ends] = seconds < 1000 ? [7, 3499] : [97, 89]
  return `local n = 0
request = function()
  n = n + 1
  local stop = ${end} - (n * 13) % ${ends}
  local start = stop - ${seconds} + (n * 5) % ${starts}
  return wrk.format("GET", "${path}?start=" .. start .. "&end=" .. stop .. "&resolution=1")
end
`
}

/** The body as it is sent, compressed if that was asked for. */
function rawBody(url: string, headers: Readonly<Record<string, string>>): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    get(url, { headers }, (answer) => {
      const parts: Buffer[] = []
      answer.on('data', (part: Buffer) => parts.push(part))
      answer.on('end', () => {
        const body = Buffer.concat(parts)
        if (answer.statusCode === 200) resolve(body)
        else reject(new Error(`${url}: ${answer.statusCode} ${body.toString()}`))
      })
    }).on('error', reject)
  })
}

export async function run(): Promise<void> {
  const bench = await startDaemon()
  const { daemon, plainPort } = bench
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  try {
    const { frontend, small, big } = await configure(bench)
    const csv = await showStat(daemon.state)
    await daemon.kill('SIGTERM')
    await backfill(daemon.state, csv, HISTORY_SECONDS)
    await daemon.start()
    const token = await daemon.login()
    const headers = { Authorization: `Bearer ${token}` }
    const stats = `/api/v1/${daemon.node}/layer7proxy/stats`
    const history = `${stats}/frontends/${frontend}/history`
    const end = Math.floor(Date.now() / 1000) - 20
    const scripts = [60, 3600].map((seconds) => {
      const script = join(folder, `rolling-${seconds}.lua`)
      writeFileSync(script, rollingScript(history, end, seconds))
      return script
    })
    const minute = `${history}?start=${end - 60}&end=${end}&resolution=1`
    const hour = `${history}?start=${end - 3600}&end=${end}&resolution=1`
    const cases: readonly { title: string; path: string; script?: string | undefined; accept?: string }[] = [
      { title: 'ping', path: '/api/v1/ping' },
      { title: 'live, 3 real servers of a backend', path: `${stats}/rips/backend/${small}` },
      { title: 'the same, gzip', path: `${stats}/rips/backend/${small}`, accept: 'gzip' },
      { title: `live, ${BIG_BACKEND} real servers of a backend`, path: `${stats}/rips/backend/${big}` },
      { title: 'the same, br', path: `${stats}/rips/backend/${big}`, accept: 'br' },
      { title: 'history 60 s, one window', path: minute },
      { title: 'history 60 s, rolling windows', path: minute, script: scripts[0] },
      { title: 'history 1 h, one window', path: hour },
      { title: 'history 1 h, rolling windows', path: hour, script: scripts[1] },
      { title: 'history 1 h, one window, gzip', path: hour, accept: 'gzip' },
    ]
    const rows: (readonly string[])[] = []
    // Small, it asks one of each kind: as it is, compressed, and for other windows.
    for (const { title, path, script, accept } of scaled(
      cases,
      cases.filter((_, at) => [1, 4, 6].includes(at)),
    )) {
      const url = `http://127.0.0.1:${plainPort}${path}`
      const sent = accept === undefined ? headers : { ...headers, 'Accept-Encoding': accept }
      const body = await rawBody(url, sent)
      rows.push(await measure({ title, target: { url, headers: sent, ...(script && { script }) }, body }))
    }
    table(
      `Front: ${ROUNDS} interleaved rounds of ${SECONDS} s, wrk -t1 -c32, token and role check on`,
      ['request', 'bytes', 'requests/s', 'bare uWebSockets.js', 'ratio (range)', 'p99 ms'],
      rows,
    )
  } finally {
    await bench.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) await run()
