import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseShowProc, refusalOf, requestLine, toWorker } from '../../src/drivers/haproxy/cli.ts'
import { findHeader } from '../../src/drivers/haproxy/stats-csv.ts'
import type { StatsSource } from './messages.ts'

/** How long a refused connection is tried again: the master closes its socket for some milliseconds when it reloads. */
const REFUSED_RETRY_MS = 300
const RETRY_PAUSE_MS = 25
/** Old workers polled in one second. More than that at once means reloads faster than connections end. */
const OLD_WORKERS_MAX = 16
/** 20,000 objects are 5 MB. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024

export interface ProcessStats {
  readonly pid: number
  readonly uptime_s: number | undefined
  /** The answer as it came; the statistics begin at `from`. */
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly from: number
}

export type Poll =
  | {
      readonly ok: true
      readonly current: ProcessStats
      readonly old: readonly ProcessStats[]
      /** Old workers that still exist, polled or not. */
      readonly oldPids: readonly number[]
    }
  | { readonly ok: false; readonly reason: string }

export type Source = (deadline_ms: number) => Promise<Poll>

const FAILURES: Readonly<Record<string, string>> = {
  ENOENT: 'its socket does not exist',
  ECONNREFUSED: 'it does not accept connections on its socket',
  EACCES: 'its socket may not be opened by this user',
  EPERM: 'its socket may not be opened by this user',
}

class ExchangeError extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

function join(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  // A buffer of its own, not a slice of Node's pool: it is moved to the main thread.
  const all = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

/** One connection, one request, the whole answer. */
function exchange(path: string, request: string, timeout_ms: number): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let length = 0
    const socket = connect({ path })
    const fail = (code: string, message: string): void => {
      clearTimeout(timer)
      socket.destroy()
      reject(new ExchangeError(code, message))
    }
    const timer = setTimeout(() => fail('TIMEOUT', `it did not answer within ${Math.round(timeout_ms)} ms`), timeout_ms)
    socket.on('data', (chunk: Uint8Array) => {
      chunks.push(chunk)
      length += chunk.length
      if (length > ANSWER_BYTES_MAX) fail('TOO_LARGE', 'its answer is too large')
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const code = error.code ?? 'ERROR'
      fail(code, FAILURES[code] ?? `its socket failed (${code})`)
    })
    socket.on('end', () => {
      clearTimeout(timer)
      socket.destroy()
      resolve(join(chunks, length))
    })
    // Half-closed after the request: the master otherwise waits for the next command instead of ending the session.
    socket.end(request)
  })
}

async function exchangeWithRetry(path: string, request: string, deadline_ms: number): Promise<Uint8Array<ArrayBuffer>> {
  const started = performance.now()
  for (;;) {
    const passed = performance.now() - started
    try {
      return await exchange(path, request, Math.max(1, deadline_ms - passed))
    } catch (error) {
      const refused = error instanceof ExchangeError && (error.code === 'ECONNREFUSED' || error.code === 'ENOENT')
      if (!refused || performance.now() - started > REFUSED_RETRY_MS) throw error
      await sleep(RETRY_PAUSE_MS)
    }
  }
}

const decoder = new TextDecoder()

/** What precedes the statistics in an answer of two commands; `undefined` when there are no statistics in it. */
function preamble(bytes: Uint8Array): { readonly text: string; readonly from: number } | undefined {
  const header = findHeader(bytes)
  return header === undefined
    ? undefined
    : { text: decoder.decode(bytes.subarray(0, header.start)), from: header.start }
}

function withoutStatistics(bytes: Uint8Array): Poll {
  const text = decoder.decode(bytes.subarray(0, 4_096))
  const refusal = text
    .split('\n\n')
    .map(refusalOf)
    .find((line) => line !== undefined)
  return { ok: false, reason: refusal === undefined ? 'its answer was cut off' : `it refused: ${refusal}` }
}

const STAT_REQUEST = 'show stat'

/**
 * Every poll is a connection of its own: a session that stays open would stick to an old worker after a reload and keep it
 * alive. `show proc` in the same request says which process answered; the master closes the session if it reloads in between.
 */
async function pollMaster(path: string, deadline_ms: number): Promise<Poll> {
  const started = performance.now()
  const bytes = await exchangeWithRetry(path, requestLine('show proc', toWorker('current', STAT_REQUEST)), deadline_ms)
  const head = preamble(bytes)
  if (head === undefined) return withoutStatistics(bytes)
  const processes = parseShowProc(head.text)
  const worker = processes?.workers[0]
  if (processes === undefined || worker === undefined) return { ok: false, reason: 'its master has no worker' }
  const left_ms = deadline_ms - (performance.now() - started)
  const oldPids = processes.oldWorkers.map((old) => old.pid)
  const answers = await Promise.all(
    processes.oldWorkers.slice(0, OLD_WORKERS_MAX).map((old) => pollOldWorker(path, old.pid, left_ms)),
  )
  return {
    ok: true,
    current: { pid: worker.pid, uptime_s: worker.uptime_s, bytes, from: head.from },
    old: answers.filter((answer) => answer !== undefined),
    oldPids,
  }
}

/** An old worker may end at any moment: not answering is no fault. */
async function pollOldWorker(path: string, pid: number, timeout_ms: number): Promise<ProcessStats | undefined> {
  try {
    const bytes = await exchange(path, requestLine(toWorker({ pid }, STAT_REQUEST)), Math.max(1, timeout_ms))
    const header = findHeader(bytes)
    return header === undefined ? undefined : { pid, uptime_s: undefined, bytes, from: header.start }
  } catch {
    return undefined
  }
}

async function pollStatsSocket(path: string, deadline_ms: number): Promise<Poll> {
  const bytes = await exchangeWithRetry(path, requestLine('show info', STAT_REQUEST), deadline_ms)
  const head = preamble(bytes)
  if (head === undefined) return withoutStatistics(bytes)
  const pid = Number(/^Pid: (\d+)$/m.exec(head.text)?.[1])
  const uptime_s = Number(/^Uptime_sec: (\d+)$/m.exec(head.text)?.[1])
  if (Number.isNaN(pid)) return { ok: false, reason: 'it did not say which process it is' }
  const known = Number.isNaN(uptime_s) ? undefined : uptime_s
  return { ok: true, current: { pid, uptime_s: known, bytes, from: head.from }, old: [], oldPids: [] }
}

export function createSource(source: StatsSource): Source {
  const poll = source.kind === 'master-socket' ? pollMaster : pollStatsSocket
  return async (deadline_ms) => {
    try {
      return await poll(source.path, deadline_ms)
    } catch (error) {
      return { ok: false, reason: error instanceof Error ? error.message : 'its socket failed' }
    }
  }
}
