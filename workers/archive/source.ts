import { infoField, parseShowProc, refusalOf, toWorker } from '../../src/drivers/haproxy/cli.ts'
import { findHeader } from '../../src/drivers/haproxy/stats-csv.ts'
import { UnansweredError } from './exchange.ts'
import type { StatsSource } from './messages.ts'
import { OldWorkers } from './old-workers.ts'
import { Questions } from './questions.ts'

export interface ProcessStats {
  readonly pid: number
  readonly uptime_s: number | undefined
  /** The answer as it came; the statistics begin at `from`. */
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly from: number
  /** Of a process that was not there at the poll before, where its version may begin with counters of another one. */
  readonly intake?: Intake | undefined
}

export interface Intake {
  /** Connections that the process has accepted since its start, those of its command socket included; asked after the statistics. */
  readonly accepted: number
  /** Whether this version can count in memory that several processes share. */
  readonly mayShare: boolean
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

const decoder = new TextDecoder()

/** `show proc` of a thousand workers and `show info` are far shorter. */
const TEXT_BYTES_MAX = 256 * 1_024

/** What precedes the statistics in an answer of two commands; `undefined` when there are no statistics in it. */
function preamble(bytes: Uint8Array): { readonly text: string; readonly from: number } | undefined {
  const header = findHeader(bytes)
  if (header === undefined || header.start > TEXT_BYTES_MAX) return undefined
  return { text: decoder.decode(bytes.subarray(0, header.start)), from: header.start }
}

/** An answer that should be short. Whoever answers with hundreds of megabytes is no HAProxy, and is not made a string. */
function shortText(bytes: Uint8Array): string {
  return decoder.decode(bytes.subarray(0, TEXT_BYTES_MAX))
}

function withoutStatistics(bytes: Uint8Array): Poll {
  const text = decoder.decode(bytes.subarray(0, 4_096))
  const refusal = text
    .split('\n\n')
    .map(refusalOf)
    .find((line) => line !== undefined)
  return { ok: false, reason: refusal === undefined ? 'its answer was cut off' : `it refused: ${refusal}` }
}

/** The master itself answered, so the rest is up to its worker. */
function whoIsSilent(error: unknown): never {
  throw error instanceof UnansweredError && error.hasBegun ? new Error(WORKER_SILENT, { cause: error }) : error
}

const WORKER_SILENT = 'its worker does not answer'
const STAT_REQUEST = 'show stat'
const INFO_REQUEST = 'show info'

/** Versions as numbers (2.6 is 206): from these on a process may begin with counters of another one, or share them. */
const FIRST_COPYING = 300
const FIRST_SHARING = 303

function versionNumber(text: string | undefined): number {
  const match = /^(\d+)\.(\d+)/.exec(text ?? '')
  return match === null ? 0 : Number(match[1]) * 100 + Number(match[2])
}

/** One HAProxy, behind its master socket or behind the socket of a process. */
class Haproxy {
  readonly #questions: Questions
  readonly #kind: StatsSource['kind']
  readonly #oldWorkers: OldWorkers
  /** What answers on a socket of unknown kind, once that was found out. */
  #found: 'master-socket' | 'stats-socket' | undefined
  /** The process that answered last. */
  #pid: number | undefined

  constructor(source: StatsSource) {
    this.#questions = new Questions(source)
    this.#kind = source.kind
    this.#oldWorkers = new OldWorkers(this.#questions, source.statsSocket)
  }

  async poll(deadline_ms: number): Promise<Poll> {
    const until = performance.now() + deadline_ms
    const left = (): number => Math.max(1, until - performance.now())
    const kind = this.#kind === 'any-socket' ? (this.#found ?? (await this.#findOut(left()))) : this.#kind
    const poll = await (kind === 'master-socket' ? this.#pollMaster(left) : this.#pollProcess(left))
    // Something else may listen there the next time.
    this.#found = poll.ok ? kind : undefined
    return poll
  }

  /** Only a master knows the command; a process answers with those that it knows. */
  async #findOut(timeout_ms: number): Promise<'master-socket' | 'stats-socket'> {
    const answer = await this.#questions.poll(['show proc'], timeout_ms)
    return parseShowProc(shortText(answer)) === undefined ? 'stats-socket' : 'master-socket'
  }

  /**
   * Every poll is a connection of its own: a session that stays open would stick to an old worker after a reload and keep it
   * alive. `show proc` in the same request says which process answered; the master closes the session if it reloads in between.
   */
  async #pollMaster(left: () => number): Promise<Poll> {
    const bytes = await this.#questions
      .poll(['show proc', toWorker('current', STAT_REQUEST)], left())
      .catch(whoIsSilent)
    const head = preamble(bytes)
    if (head === undefined) return withoutStatistics(bytes)
    const processes = parseShowProc(head.text)
    const worker = processes?.workers[0]
    if (processes === undefined || worker === undefined) return { ok: false, reason: 'its master has no worker' }
    const { pid, uptime_s } = worker
    const intake = await this.#intake(pid, versionNumber(worker.version), toWorker({ pid }, INFO_REQUEST), left())
    const oldPids = processes.oldWorkers.map((process) => process.pid)
    await this.#oldWorkers.watch(pid, left())
    const old = await this.#oldWorkers.poll(oldPids, pid, left())
    return { ok: true, current: { pid, uptime_s, bytes, from: head.from, intake }, old, oldPids }
  }

  async #pollProcess(left: () => number): Promise<Poll> {
    const bytes = await this.#questions.poll([INFO_REQUEST, STAT_REQUEST], left())
    const head = preamble(bytes)
    if (head === undefined) return withoutStatistics(bytes)
    const pid = Number(infoField(head.text, 'Pid'))
    if (Number.isNaN(pid)) return { ok: false, reason: 'it did not say which process it is' }
    const uptime_s = Number(infoField(head.text, 'Uptime_sec'))
    const version = versionNumber(infoField(head.text, 'Version'))
    const intake = await this.#intake(pid, version, INFO_REQUEST, left())
    const known = Number.isNaN(uptime_s) ? undefined : uptime_s
    return { ok: true, current: { pid, uptime_s: known, bytes, from: head.from, intake }, old: [], oldPids: [] }
  }

  /** Asked once of each process, and only where there is something to find out. */
  async #intake(pid: number, version: number, request: string, timeout_ms: number): Promise<Intake | undefined> {
    if (pid === this.#pid) return undefined
    if (version >= FIRST_COPYING) {
      const text = shortText(await this.#questions.ask('process', [request], timeout_ms))
      const accepted = Number(infoField(text, 'CumConns'))
      // Another process may have taken over the socket since; the next poll asks again.
      if (Number(infoField(text, 'Pid')) !== pid || Number.isNaN(accepted)) throw new Error('it was just replaced')
      this.#pid = pid
      return { accepted, mayShare: version >= FIRST_SHARING }
    }
    this.#pid = pid
    return undefined
  }
}

export function createSource(source: StatsSource): Source {
  const haproxy = new Haproxy(source)
  return async (deadline_ms) => {
    try {
      return await haproxy.poll(deadline_ms)
    } catch (error) {
      return { ok: false, reason: error instanceof Error ? error.message : 'its socket failed' }
    }
  }
}
