import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Collector } from '../workers/archive/collector.ts'
import { ArchiveWriter } from '../storage/archive/writer.ts'
import { Daemon } from '../test/fixtures/daemon.ts'
import { freePort } from '../test/fixtures/traffic.ts'

const TICKS_PER_SECOND = 100

export interface BenchDaemon {
  readonly daemon: Daemon
  readonly plainPort: number
  stop(): Promise<void>
}

/** Lets benchmarks of one daemon run with front threads. */
const FRONTS = ['--front-threads', process.env['FULCRUM_BENCH_FRONT_THREADS'] ?? '0']

/** Starts a real daemon in a folder of its own, with plain HTTP beside TLS. */
export async function startDaemon(more: readonly string[] = FRONTS): Promise<BenchDaemon> {
  const state = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  const plainPort = await freePort()
  const daemon = new Daemon(state, ['--no-demo', '--http', `127.0.0.1:${plainPort}`, ...more], [], { isMeasured: true })
  await daemon.start()
  await daemon.login()
  return {
    daemon,
    plainPort,
    async stop() {
      await daemon.end()
      rmSync(state, { recursive: true, force: true })
    },
  }
}

/** Runs the work in a folder that is removed afterwards; teardowns run in reverse order. */
export async function inFolder(
  work: (folder: string, teardown: (end: () => unknown) => unknown) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  const after: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  try {
    await work(folder, (end) => after.push(end))
  } finally {
    for (const end of after.toReversed()) await end()
  }
}

export async function createReals(daemon: Daemon, count: number, name = 'real'): Promise<readonly string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i += 1) {
    const body = { name: `${name} ${i}`, ip: `127.1.${i >> 8}.${i & 255}`, port: 8000 }
    ids.push((await daemon.data('POST', '/ipvsDirector/rips', body)).id)
  }
  return ids
}

/** Returns HAProxy's answer to `show stat`. */
export function showStat(state: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    const socket = connect(join(state, 'haproxy', 'stats.sock'), () => socket.end('show stat\n'))
    socket.on('data', (part) => parts.push(part))
    socket.on('error', reject)
    socket.on('close', () => resolve(Buffer.concat(parts)))
  })
}

/**
 * Writes `seconds` of history that end now for the objects in this `show stat` answer, through the daemon's own
 * collector and archive, with counters that grow unevenly. The daemon must not run meanwhile.
 */
export async function backfill(state: string, csv: Buffer, seconds: number): Promise<void> {
  const header = csv.subarray(2, csv.indexOf(10)).toString().split(',')
  const lines = csv
    .toString()
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split(','))
  const column = (name: string) => header.indexOf(name)
  const started_s = Math.floor(Date.now() / 1000) - seconds
  const writer = new ArchiveWriter(join(state, 'archive'), started_s)
  const collector = new Collector(writer)
  for (let i = 0; i < seconds; i += 1) {
    for (const [n, cells] of lines.entries()) {
      const sessions = (i * 7 + n * 13) % 97
      add(cells, column('stot'), sessions)
      add(cells, column('bin'), sessions * 431)
      add(cells, column('bout'), sessions * 9173)
      cells[column('scur')] = String(sessions % 11)
    }
    const text = [`# ${header.join(',')}`, ...lines.map((cells) => cells.join(','))].join('\n')
    const bytes = new Uint8Array(Buffer.from(`${text}\n\n`))
    const time = { archive_s: started_s + i + 0.05, monotonic_s: i }
    collector.absorb(
      { ok: true, current: { pid: 1, uptime_s: 10_000 + i, bytes, from: 0 }, old: [], oldPids: [] },
      time,
    )
    collector.close(started_s + i, time)
  }
  await writer.close()
}

function add(cells: string[], at: number, increment: number): void {
  cells[at] = String(Number(cells[at]) + increment)
}

/** Returns the processor seconds that a process has used. */
export function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** Returns the processor milliseconds of a process's first thread, which is the one that answers; to the nanosecond. */
export const mainThreadOf_ms = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6

/** Returns the resident and private memory of a process in megabytes. */
export function memoryOf(pid: number): { readonly rss_mb: number; readonly anonymous_mb: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const of = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
  return { rss_mb: of('VmRSS'), anonymous_mb: of('RssAnon') }
}

/** Returns the milliseconds that a program takes; rejects if it fails. */
export function runTime(argv: readonly string[]): Promise<number> {
  const began_ms = performance.now()
  const [program = '', ...rest] = argv
  return new Promise((resolve, reject) => {
    const child = spawn(program, rest, { stdio: 'ignore' })
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve(performance.now() - began_ms)
      else reject(new Error(`${argv.join(' ')} ended with ${code}`))
    })
  })
}
