import { infoField, toWorker } from '../../src/drivers/haproxy/cli.ts'
import { findHeader } from '../../src/drivers/haproxy/stats-csv.ts'
import { AT_ONCE, type Questions } from './questions.ts'
import type { ProcessStats } from './process-answer.ts'
import { Witness } from './witness.ts'

/** Old workers polled at once; fewer where answers are long: with 20,000 objects each has 5 MB and takes 0.1 s. */
const ASKED_MAX = 16
const ASKED_BYTES_MAX = 16 * 1024 * 1024
/** Each witness must be asked within HAProxy's ten seconds, so all must have had their turn after this many polls. */
const TURNS_MAX = 8

export interface OldAnswers {
  readonly answers: readonly ProcessStats[]
  /** Workers that the master no longer has. */
  readonly ended: readonly number[]
}

/**
 * The workers of earlier configurations, while they serve their last connections. Where the workers' socket is known,
 * each has had a witness since it was the current one, and ends when its last figures were read.
 */
export class OldWorkers {
  readonly #master: Questions
  readonly #statsSocket: string | undefined
  readonly #witnesses = new Map<number, Witness>()
  /** Last turn of each worker, as a rising number. */
  readonly #turns = new Map<number, number>()
  #turn = 0
  #answer_bytes = 0

  constructor(master: Questions, statsSocket: string | undefined) {
    this.#master = master
    this.#statsSocket = statsSocket
  }

  /** Called with the current worker of every poll. */
  async watch(pid: number, timeout_ms: number): Promise<void> {
    if (this.#statsSocket === undefined) return
    const known = this.#witnesses.get(pid)
    if (known?.isOpen === true) {
      // HAProxy closes a session that is silent for ten seconds; a lost session is replaced at the next poll.
      await known.ask('show info', timeout_ms)
      return
    }
    this.#witnesses.delete(pid)
    const witness = await Witness.open(this.#statsSocket, pid, timeout_ms)
    if (witness !== undefined) this.#witnesses.set(pid, witness)
  }

  /**
   * Polls the old workers whose turn it is. One may end at any moment, so a missing answer is no fault. A worker that
   * is not polled now continues to count and reports everything at its turn.
   */
  async poll(pids: readonly number[], current: number, timeout_ms: number): Promise<OldAnswers> {
    const share = Math.floor(ASKED_BYTES_MAX / Math.max(1, this.#answer_bytes))
    const asked_max = Math.max(1, Math.min(ASKED_MAX, share))
    const waiting = pids.toSorted((one, other) => this.#turnOf(one) - this.#turnOf(other))
    this.#release(new Set([current, ...waiting.slice(0, asked_max * TURNS_MAX)]))
    const asked = waiting.slice(0, asked_max)
    for (const pid of asked) this.#turns.set(pid, ++this.#turn)
    const until = performance.now() + timeout_ms
    const answers: ProcessStats[] = []
    const ended: number[] = []
    for (let from = 0; from < asked.length; from += AT_ONCE) {
      const left_ms = Math.max(1, until - performance.now())
      const some = asked.slice(from, from + AT_ONCE)
      const told = await Promise.all(some.map((pid) => this.#pollOne(pid, left_ms)))
      for (const [index, answer] of told.entries()) {
        if (answer === 'ended') ended.push(some[index] ?? 0)
        else if (answer !== 'late') answers.push(answer)
      }
    }
    return { answers, ended }
  }

  #turnOf(pid: number): number {
    return this.#turns.get(pid) ?? 0
  }

  /** Releases all other workers: those that ended, and those for which there is no time. */
  #release(kept: ReadonlySet<number>): void {
    for (const [pid, witness] of this.#witnesses) {
      if (kept.has(pid)) continue
      witness.close()
      this.#witnesses.delete(pid)
    }
    for (const pid of this.#turns.keys()) if (!kept.has(pid)) this.#turns.delete(pid)
  }

  async #pollOne(pid: number, timeout_ms: number): Promise<ProcessStats | 'late' | 'ended'> {
    const until = performance.now() + timeout_ms
    const heard = await this.#heard(pid, timeout_ms)
    const bytes = heard ?? (await this.#asked(pid, Math.max(1, until - performance.now())))
    if (bytes === undefined) return 'late'
    const header = findHeader(bytes)
    if (header === undefined) return 'ended'
    this.#answer_bytes = bytes.length
    return { pid, uptime_s: undefined, bytes, from: header.start }
  }

  /** Polls a worker through its witness, and releases the worker once its figures are final. */
  async #heard(pid: number, timeout_ms: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const witness = this.#witnesses.get(pid)
    const info = await witness?.ask('show info', timeout_ms)
    if (witness === undefined || info === undefined) return undefined
    const isDone = infoField(Buffer.from(info).toString(), 'CurrConns') === '0'
    const bytes = await witness.ask('show stat', timeout_ms)
    if (isDone && bytes !== undefined) witness.close()
    return bytes
  }

  async #asked(pid: number, timeout_ms: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (!this.#master.hasPlace) return undefined
    try {
      return await this.#master.ask(pid, [toWorker({ pid }, 'show stat')], timeout_ms)
    } catch {
      return undefined
    }
  }
}
