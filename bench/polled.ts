/**
 * A daemon with an hour of history, and typical requests of pollers: the front's benchmark and the guard measure the
 * same.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../test/fixtures/traffic.ts'
import { backfill, type BenchDaemon, cpuOf, createReals, showStat, startDaemon } from './daemon.ts'
import { startBare, type Target, throughput } from './load.ts'
import { scaled } from './scale.ts'

const BIG_BACKEND = scaled(76, 4)
const HISTORY_SECONDS = scaled(3900, 100)

interface Asked {
  readonly title: string
  readonly path: string
  readonly script?: string | undefined
  readonly accept?: string
}

export interface Polled {
  readonly cases: readonly Asked[]
  readonly pid: number
  /** Returns the request for wrk, and the body as sent, compressed if requested. */
  target(asked: Asked): Promise<{ readonly target: Target; readonly body: Uint8Array }>
  stop(): Promise<void>
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

/**
 * Requests a different window of about `seconds` in the last hour each time: starts and ends go through cycles without
 * a common divisor, so thousands of requests pass before one repeats, and no cached answer lasts until then.
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

/** Returns the body as sent, compressed if requested. */
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

export async function startPolled(): Promise<Polled> {
  const bench = await startDaemon()
  const { daemon, plainPort } = bench
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  const stop = async () => {
    await bench.stop()
    rmSync(folder, { recursive: true, force: true })
  }
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
    const cases: readonly Asked[] = [
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
    return {
      cases,
      pid: daemon.pid,
      async target({ path, script, accept }) {
        const url = `http://127.0.0.1:${plainPort}${path}`
        const sent = accept === undefined ? headers : { ...headers, 'Accept-Encoding': accept }
        return { target: { url, headers: sent, ...(script && { script }) }, body: await rawBody(url, sent) }
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Requests per second, and processor microseconds of the process per request. */
export interface Rate {
  readonly perSecond: number
  readonly processor_us: number
}

/** Number of requests made, and the seconds they took. */
export interface Made {
  readonly requests: number
  readonly seconds: number
}

/** Measures the server with this pid under the load. */
export async function rateOf(pid: number, load: () => Promise<Made>): Promise<Rate> {
  const before_s = cpuOf(pid)
  const { requests, seconds } = await load()
  return { perSecond: requests / seconds, processor_us: ((cpuOf(pid) - before_s) * 1e6) / requests }
}

/** Returns the number of requests that wrk makes in this time. */
export const madeOf = async (target: Target, seconds: number): Promise<Made> => ({
  requests: (await throughput(target, seconds)) * seconds,
  seconds,
})

/**
 * Measures in turn with a bare server that answers the same bytes and, with `reads`, with one that also reads the
 * request first; the latter is left out if a script varies the request.
 */
export async function besideBare(
  polled: Polled,
  asked: Asked,
  { rounds, seconds, reads = false }: { readonly rounds: number; readonly seconds: number; readonly reads?: boolean },
): Promise<{
  readonly ours: readonly Rate[]
  readonly bare: readonly Rate[]
  readonly reading: readonly Rate[]
  readonly target: Target
  readonly bytes: number
}> {
  const { target, body } = await polled.target(asked)
  const limit = await startBare(body)
  const reader = reads && target.script === undefined ? await startBare(body, { reads: true }) : undefined
  const rates = (pid: number, of: Target) => rateOf(pid, () => madeOf(of, seconds))
  const [ours, bare, reading]: [Rate[], Rate[], Rate[]] = [[], [], []]
  try {
    for (let round = 0; round < rounds; round += 1) {
      bare.push(await rates(limit.pid, { url: limit.url, headers: {} }))
      ours.push(await rates(polled.pid, target))
      if (reader === undefined) continue
      const { pathname, search } = new URL(target.url)
      const { href: url } = new URL(`${pathname}${search}`, reader.url)
      reading.push(await rates(reader.pid, { url, headers: target.headers }))
    }
  } finally {
    limit.stop()
    reader?.stop()
  }
  return { ours, bare, reading, target, bytes: body.length }
}

/** Divides the values of each round by the limit of that round. */
export const ratios = (ours: readonly number[], limits: readonly number[]): readonly number[] =>
  ours.map((value, i) => value / (limits[i] ?? value))
