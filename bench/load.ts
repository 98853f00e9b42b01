import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { percentile } from './measure.ts'

const execute = promisify(execFile)
const CONNECTIONS = 32

export interface Target {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Path of a wrk script that varies the request. */
  readonly script?: string
}

/** Returns wrk's output. wrk accepts whole seconds only; when interrupted, it prints its results so far. */
export async function runWrk(seconds: number, argv: readonly string[]): Promise<string> {
  const running = execute('wrk', [`-d${Math.ceil(seconds)}s`, ...argv])
  const end = Number.isInteger(seconds) ? undefined : setTimeout(() => running.child.kill('SIGINT'), seconds * 1_000)
  const { stdout } = await running
  clearTimeout(end)
  return stdout
}

/** Returns the requests per second that wrk reaches with one thread; every answer must be a 2xx. */
export async function throughput({ url, headers, script }: Target, seconds: number): Promise<number> {
  const sent = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const scripted = script === undefined ? [] : ['-s', script]
  const stdout = await runWrk(seconds, ['-t1', `-c${CONNECTIONS}`, ...sent, ...scripted, url])
  if (stdout.includes('Non-2xx')) throw new Error(`${url}: ${stdout}`)
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])
}

/** Returns the 99th percentile, in milliseconds, of answers to requests sent at a fixed rate. */
export async function latencyAt(target: Target, perSecond: number, seconds: number): Promise<number> {
  return percentile(await timesAt(target, perSecond, seconds), 0.99)
}

/** Returns the milliseconds until each answer to requests sent at a fixed rate. */
export async function timesAt(
  { url, headers }: Target,
  perSecond: number,
  seconds: number,
): Promise<readonly number[]> {
  const clients = 8
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  try {
    const log = join(folder, 'requests.log')
    const sent = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    const rate = Math.max(1, Math.round(perSecond / clients))
    const argv = [
      '--h1',
      `-c${clients}`,
      `-D${Math.round(seconds * 1_000)}ms`,
      `--rps=${rate}`,
      `--log-file=${log}`,
      ...sent,
      url,
    ]
    await execute('h2load', argv, { maxBuffer: 1 << 26 })
    const times_ms: number[] = []
    for (const line of readFileSync(log, 'utf8').split('\n')) {
      const [, status, microseconds] = line.split('\t')
      if (status !== undefined && status !== '200') throw new Error(`${url}: status ${status}`)
      if (microseconds !== undefined) times_ms.push(Number(microseconds) / 1000)
    }
    return times_ms
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export interface BareServer {
  readonly url: string
  readonly pid: number
  stop(): void
}

interface Bare {
  readonly tls?: { readonly key: string; readonly certificate: string }
  /** Whether the server reads the request, and sends headers as the daemon does. */
  readonly reads?: boolean
}

/** Starts a bare uWebSockets.js server in a separate process that answers these bytes from memory. */
export async function startBare(body: Uint8Array, { tls, reads = false }: Bare = {}): Promise<BareServer> {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  const file = join(folder, 'body')
  writeFileSync(file, body)
  const program = fileURLToPath(new URL('bare-server.ts', import.meta.url))
  const shown = [...(tls === undefined ? [] : [tls.key, tls.certificate]), ...(reads ? ['--reads'] : [])]
  const server = spawn(process.execPath, [program, file, ...shown], { stdio: ['ignore', 'pipe', 'ignore'] })
  const [line] = await once(createInterface({ input: server.stdout }), 'line')
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${line}/`,
    pid: server.pid ?? 0,
    stop() {
      server.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
