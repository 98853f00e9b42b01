import { infoField, parseShowProc, refusalOf, toWorker } from '../../src/drivers/haproxy/cli.ts'
import { exchange, hadNoPlace, isAbsent, UnansweredError } from './exchange.ts'
import type { SocketTarget, StatsSource } from './messages.ts'
import { OldWorkers } from './old-workers.ts'
import {
  type Intake,
  intakeOf,
  preamble,
  type ProcessStats,
  readAnswer,
  shortText,
  versionNumber,
} from './process-answer.ts'
import { Questions } from './questions.ts'
import { SilentSessions } from './silent-sessions.ts'
import { cliSockets } from './worker-sockets.ts'

interface Answered {
  readonly ok: true
  readonly current: ProcessStats
  readonly old: readonly ProcessStats[]
  /** Old workers whose figures may still come, polled now or not. */
  readonly oldPids: readonly number[]
  /** Those of them that have ended since they were listed; none by default. */
  readonly ended?: readonly number[]
}

export type Poll = Answered | { readonly ok: false; readonly reason: string }

export type Source = (deadline_ms: number) => Promise<Poll>

/** Minimum time for a question: after a stall, the deadline may have passed before HAProxy received anything. */
const LEFT_MS_MIN = 100

function withoutStatistics(bytes: Uint8Array): Error {
  const refusal = shortText(bytes.subarray(0, 4_096))
    .split('\n\n')
    .map(refusalOf)
    .find((line) => line !== undefined)
  return new Error(refusal === undefined ? 'its answer was cut off' : `it refused: ${refusal}`)
}

/** Whether the other side exists but has no time to answer. */
const isSilent = (error: unknown): boolean => error instanceof UnansweredError || hadNoPlace(error)

/** Rejects for a master that itself answered: its worker is the silent one. */
function whoIsSilent(error: unknown): never {
  throw error instanceof UnansweredError && error.hasBegun ? new Error(WORKER_SILENT, { cause: error }) : error
}

const WORKER_SILENT = 'its worker does not answer'
const STAT_REQUEST = 'show stat'
const INFO_REQUEST = 'show info'

/** One HAProxy, behind its master socket or behind the socket of a process. */
class Haproxy {
  readonly #questions: Questions
  readonly #kind: StatsSource['kind']
  readonly #oldWorkers: OldWorkers
  /** Sessions with a HAProxy that something else configures. */
  readonly #silent: SilentSessions | undefined
  /** The own socket of the observed master's current worker; found once for each worker. */
  #workers: { readonly pid: number; readonly target: SocketTarget | undefined } | undefined
  /** Kind of socket that sent the last figures; unknown after an answer without figures. */
  #found: 'master-socket' | 'stats-socket' | undefined
  /** The process that answered last. */
  #pid: number | undefined

  constructor(source: StatsSource) {
    this.#questions = new Questions(source)
    this.#kind = source.kind
    this.#silent = source.kind === 'any-socket' ? new SilentSessions() : undefined
    this.#oldWorkers = new OldWorkers(this.#questions, source.statsSocket)
  }

  /** Rejects with a sentence about HAProxy ("it …", "its …"). */
  async poll(deadline_ms: number): Promise<Answered> {
    const until = performance.now() + deadline_ms
    const left = (): number => Math.max(LEFT_MS_MIN, until - performance.now())
    try {
      return await this.#try(left)
    } catch (error) {
      if (isSilent(error) || isAbsent(error)) throw error
      const hadFigures = this.#found !== undefined
      this.#found = undefined
      if (!hadFigures) throw error
      // A process that now answers without figures may have been replaced, perhaps by another kind of process.
      return await this.#try(left)
    }
  }

  async #try(left: () => number): Promise<Answered> {
    try {
      return await this.#poll(left)
    } catch (error) {
      if (isSilent(error)) this.#silent?.yieldPlaces()
      throw error
    }
  }

  async #poll(left: () => number): Promise<Answered> {
    const kind = this.#kind === 'any-socket' ? (this.#found ?? (await this.#findOut(left()))) : this.#kind
    const poll = await (kind === 'master-socket' ? this.#pollMaster(left) : this.#pollProcess(left))
    this.#found = kind
    return poll
  }

  /** Only a master knows `show proc`; a process answers with a list of its commands. */
  async #findOut(timeout_ms: number): Promise<'master-socket' | 'stats-socket'> {
    const answer = await this.#questions.poll(['show proc'], timeout_ms)
    return parseShowProc(shortText(answer)) === undefined ? 'stats-socket' : 'master-socket'
  }

  /**
   * Every poll uses its own connection: after a reload, an open session would stick to an old worker and keep it alive.
   * `show proc` in the same request names the process that answered; the master closes the session if it reloads in
   * between.
   */
  async #pollMaster(left: () => number): Promise<Answered> {
    const bytes = await this.#questions
      .poll(['show proc', toWorker('current', STAT_REQUEST)], left())
      .catch(whoIsSilent)
    const head = preamble(bytes)
    if (head === undefined) throw withoutStatistics(bytes)
    const processes = parseShowProc(head.text)
    const worker = processes?.workers[0]
    if (processes === undefined || worker === undefined) throw new Error('its master has no worker')
    const { pid, uptime_s } = worker
    const intake = await this.#intake(pid, versionNumber(worker.version), toWorker({ pid }, INFO_REQUEST), left())
    const listed = processes.oldWorkers.map((process) => process.pid)
    const heard = await this.#heard(pid, left)
    await this.#oldWorkers.watch(pid, left())
    const others = listed.filter((old) => !heard.some((answer) => answer.pid === old))
    const { answers, ended } = await this.#oldWorkers.poll(others, pid, left())
    const old = [...heard, ...answers]
    const oldPids = [...new Set([...listed, ...(this.#silent?.pids ?? [])])]
    return { ok: true, current: { pid, uptime_s, bytes, from: head.from, intake }, old, oldPids, ended }
  }

  /** Returns the answers of an observed master's old workers, from their own socket. */
  async #heard(pid: number, left: () => number): Promise<readonly ProcessStats[]> {
    if (this.#silent === undefined) return []
    if (this.#workers?.pid !== pid) this.#workers = { pid, target: await this.#workerSocket(pid, left) }
    return this.#silent.poll(this.#workers.target, pid, left())
  }

  /**
   * A path may name another file here than where HAProxy runs, so a socket counts only if this very worker answers on
   * it.
   */
  async #workerSocket(pid: number, left: () => number): Promise<SocketTarget | undefined> {
    const request = toWorker({ pid }, 'show cli sockets')
    const listed = await this.#questions.ask('process', [request], left()).catch(() => undefined)
    for (const target of listed === undefined ? [] : cliSockets(shortText(listed))) {
      const info = await exchange(target, `${INFO_REQUEST}\n`, left()).catch(() => undefined)
      if (info !== undefined && Number(infoField(shortText(info), 'Pid')) === pid) return target
    }
    return undefined
  }

  async #pollProcess(left: () => number): Promise<Answered> {
    const bytes = await this.#questions.poll([INFO_REQUEST, STAT_REQUEST], left())
    const answer = readAnswer(bytes)
    if (answer === undefined)
      throw preamble(bytes) === undefined ? withoutStatistics(bytes) : new Error('it did not report its process id')
    const intake = await this.#intake(answer.pid, answer.version, INFO_REQUEST, left())
    const heard = (await this.#silent?.poll(this.#questions.target, answer.pid, left())) ?? []
    const old = heard.map((one) => ({ ...one, isSporadic: true }))
    return { ok: true, current: { ...answer, intake }, old, oldPids: this.#silent?.pids ?? [] }
  }

  /** Asked once per process, and only where its version leaves the question open. */
  async #intake(pid: number, version: number, request: string, timeout_ms: number): Promise<Intake | undefined> {
    if (pid === this.#pid) return undefined
    if (intakeOf(version, 0) !== undefined) {
      const text = shortText(await this.#questions.ask('process', [request], timeout_ms))
      const accepted = Number(infoField(text, 'CumConns'))
      // Another process may have taken over the socket since; the next poll asks again.
      if (Number(infoField(text, 'Pid')) !== pid || Number.isNaN(accepted)) throw new Error('it was just replaced')
      this.#pid = pid
      return intakeOf(version, accepted)
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
