/**
 * A daemon that observes a real HAProxy of 20,000 objects with some traffic: when each second is complete, missed
 * seconds, CPU and memory of both processes. FULCRUM_BENCH_SECONDS is the duration (60).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Daemon } from '../test/fixtures/daemon.ts'
import { until } from '../test/fixtures/until.ts'
import { ask } from '../test/system/plain-haproxy.ts'
import { countingOrigin, startLoad } from '../test/system/streaming-load.ts'
import { freePort } from '../test/fixtures/traffic.ts'
import { cpuOf, inFolder, memoryOf } from './daemon.ts'
import { percentile, table } from './measure.ts'
import { scaled } from './scale.ts'

const SECONDS = Number(process.env['FULCRUM_BENCH_SECONDS'] ?? scaled(60, 3))
const BACKENDS = scaled(400, 10)
const SERVERS = scaled(48, 4)
/** Number of frontends with traffic; the others listen on Unix sockets. */
const BUSY = 8
const PER_SECOND = scaled(200, 40)

interface Tick {
  readonly at_ms: number
  readonly hwm_s: number
  readonly up: boolean
}

function configuration(folder: string, ports: readonly number[], origin: number): string {
  const lines = [
    `global\n  stats socket ${folder}/stats.sock mode 600 level user\n  maxconn 2000\n  fd-hard-limit 8192`,
    'defaults\n  mode tcp\n  timeout connect 2s\n  timeout client 60s\n  timeout server 60s\n  option contstats',
  ]
  for (let n = 0; n < BACKENDS; n++) {
    const port = ports[n]
    lines.push(`frontend site-${n}`, `  bind ${port === undefined ? `unix@${folder}/f/${n}` : `127.0.0.1:${port}`}`)
    lines.push(`  default_backend pool-${n}`, `backend pool-${n}`)
    for (let i = 0; i < SERVERS; i++) lines.push(`  server host-${n}-${i} 127.0.0.1:${origin}`)
  }
  return `${lines.join('\n')}\n`
}

function readTicks(file: string): readonly Tick[] {
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  return lines.map((line) => {
    const [at_ms, hwm_s, up] = line.split(' ')
    return { at_ms: Number(at_ms), hwm_s: Number(hwm_s), up: up === 'true' }
  })
}

export const run = (): Promise<void> => inFolder(measure)

async function measure(folder: string, teardown: (end: () => unknown) => unknown): Promise<void> {
  mkdirSync(join(folder, 'f'))
  const origin = await countingOrigin({ teardown })
  const ports = await Promise.all(Array.from({ length: BUSY }, freePort))
  writeFileSync(join(folder, 'haproxy.cfg'), configuration(folder, ports, origin.port))
  const haproxy = spawn('haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], { stdio: 'ignore' })
  teardown(async () => {
    const ended = once(haproxy, 'exit')
    haproxy.kill()
    await ended
  })
  const socket = join(folder, 'stats.sock')
  const info = () => ask(socket, 'show info').catch(() => '')
  const text = await until('HAProxy', info, (answer) => answer !== '')

  const ticks = join(folder, 'ticks')
  const preload = new URL(`tick-times.ts?to=${ticks}`, import.meta.url)
  const state = join(folder, 'state')
  const daemon = new Daemon(state, ['--observe', socket], ['--import', preload.href], { isMeasured: true })
  teardown(() => daemon.end())
  await daemon.start()
  await daemon.login()
  const path = `/${daemon.node}/layer7proxy/stats`
  const { frontends, backends, reals } = await until(
    'figures',
    () => daemon.data('GET', path),
    (all) => all.reals.length > 0,
  )
  const loads = ports.map((port) => startLoad(port, { perSecond: PER_SECOND / BUSY, streams: 2 }))
  // The first polls create 20,000 objects; only the seconds after that are measured.
  await sleep(scaled(5_000, 1_000))

  const haproxyPid = haproxy.pid ?? 0
  const [daemonCpu, haproxyCpu] = [cpuOf(daemon.pid), cpuOf(haproxyPid)]
  const began_ms = Date.now()
  const windows_ms: number[] = []
  while (Date.now() < began_ms + SECONDS * 1000) {
    const from_ms = performance.now()
    const now = Math.floor(Date.now() / 1000)
    await daemon.data('GET', `${path}/frontends/${frontends[0].id}/history?start=${now - 60}&end=${now}`)
    windows_ms.push(performance.now() - from_ms)
    await sleep(1_000)
  }
  const took_s = (Date.now() - began_ms) / 1000
  const share = (used: number) => `${((used / took_s) * 100).toFixed(1)} %`
  const used = [cpuOf(daemon.pid) - daemonCpu, cpuOf(haproxyPid) - haproxyCpu].map(share)
  const measured = readTicks(ticks).filter(({ at_ms }) => at_ms >= began_ms)
  for (const load of loads) await load.stop()
  report({
    version: /^Version: (.*)$/m.exec(text)?.[1] ?? '',
    objects: frontends.length + backends.length + reals.length,
    measured,
    windows_ms,
    took_s,
  })
  const [ours, theirs] = [memoryOf(daemon.pid), memoryOf(haproxyPid)]
  const archive_mb = statSync(join(state, 'archive', 'data.mdb')).size / 1e6
  table(
    'The processes',
    ['', 'share of a core', 'resident, MB', 'private, MB'],
    [
      ['daemon', used[0] ?? '', ours.rss_mb.toFixed(0), ours.anonymous_mb.toFixed(0)],
      ['HAProxy', used[1] ?? '', theirs.rss_mb.toFixed(0), theirs.anonymous_mb.toFixed(0)],
    ],
  )
  console.log(
    `\nArchive: ${archive_mb.toFixed(1)} MB on disk. Failed connections: ${loads.flatMap((load) => load.failures).length}.`,
  )
}

interface Measured {
  readonly version: string
  readonly objects: number
  readonly measured: readonly Tick[]
  readonly windows_ms: readonly number[]
  readonly took_s: number
}

function report({ version, objects, measured, windows_ms, took_s }: Measured): void {
  // A tick is due when its second has ended, and complete when the second has been polled, committed and published.
  const delays_ms = measured.map(({ at_ms }) => at_ms % 1000)
  const gaps = measured.slice(1).map(({ hwm_s }, i) => hwm_s - (measured[i]?.hwm_s ?? hwm_s))
  const missed = gaps.reduce((sum, gap) => sum + Math.max(0, gap - 1), 0)
  const failed = measured.filter(({ up }) => !up).length
  const spread = (values: readonly number[]) =>
    [percentile(values, 0.5), percentile(values, 0.99), Math.max(...values)].map((value) => value.toFixed(1))
  table(
    `HAProxy ${version} with ${objects} objects, ${took_s.toFixed(0)} s, ${PER_SECOND} connections/s and ${BUSY * 2} streams`,
    ['', 'p50, ms', 'p99, ms', 'max, ms'],
    [
      ['a second is complete, after its end (poll begins at 50 ms)', ...spread(delays_ms)],
      ['history of 60 s over TLS, meanwhile', ...spread(windows_ms)],
    ],
  )
  console.log(`\n${measured.length} ticks, ${missed} missed, ${failed} without an answer.`)
}
