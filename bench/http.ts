/** Requests per second and p99 of the front, beside a bare uWebSockets.js server that answers the same bytes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../test/traffic-fixture.ts'
import { backfill, type BenchDaemon, createReals, showStat, startDaemon } from './daemon.ts'
import { latencyAt, startBare, type Target, throughput } from './load.ts'
import { median, spread, table, whole } from './measure.ts'

const ROUNDS = 5
const SECONDS = 3
const BIG_BACKEND = 76
const HISTORY_SECONDS = 3700

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

/** Each request asks for another minute of the last hour: no two answers are the same bytes. */
function rollingScript(path: string, end: number): string {
  return `local n = 0
request = function()
  n = n + 1
  local stop = ${end} - (n * 7) % 3500
  return wrk.format("GET", "${path}?start=" .. (stop - 60) .. "&end=" .. stop .. "&resolution=1")
end
`
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
    const script = join(folder, 'rolling.lua')
    writeFileSync(script, rollingScript(history, end))
    const paths: readonly (readonly [string, string, string?])[] = [
      ['ping', '/api/v1/ping'],
      ['live, 3 real servers of a backend', `${stats}/rips/backend/${small}`],
      ['live, 76 real servers of a backend', `${stats}/rips/backend/${big}`],
      ['history 60 s, one window', `${history}?start=${end - 60}&end=${end}&resolution=1`],
      ['history 60 s, rolling windows', `${history}?start=${end - 60}&end=${end}&resolution=1`, script],
      ['history 1 h, one window', `${history}?start=${end - 3600}&end=${end}&resolution=1`],
    ]
    const rows: (readonly string[])[] = []
    for (const [title, path, lua] of paths) {
      const url = `http://127.0.0.1:${plainPort}${path}`
      const answer = await fetch(url, { headers })
      const body = new Uint8Array(await answer.arrayBuffer())
      if (answer.status !== 200) throw new Error(`${title}: ${new TextDecoder().decode(body)}`)
      const target = { url, headers, ...(lua === undefined ? {} : { script: lua }) }
      rows.push(await measure({ title, target, body }))
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
