import { historyOf } from '../../storage/config/cluster-rows.ts'
import type { Entry } from '../../storage/config/entry.ts'
import { EtcdError } from '../etcd/errors.ts'
import type { TransactionAnswer } from '../etcd/transaction.ts'
import type { ClusterLogParts } from './cluster-log-parts.ts'
import { decodeEnvelope, type Envelope } from './envelope.ts'
import { type LargeValues, MissingPartError } from './large-values.ts'
import { GUARD, logName, markerOf } from './places.ts'
import { noQuorum } from './refusals.ts'

/** An election takes up to 2.2 s; after this limit no answer is awaited. */
const ANSWER_MS_MAX = 6_000
/**
 * A request that is lost with a leader gets no answer; the guard admits another try only if none before was executed.
 */
const SHORT_TRY = { timeout_ms: 1_500 }
const SHORT_TRIES = 2
const AGAIN_MS = 100

export interface EntryWriterParts extends Pick<ClusterLogParts, 'etcd' | 'history' | 'settle' | 'clock' | 'log'> {
  readonly values: LargeValues
  /** Whether writing has stopped. */
  readonly hasEnded: () => boolean
  readonly pause: (ms: number) => Promise<void>
}

interface Attempt {
  readonly value: Uint8Array
  readonly since: number
  /** The history of the entry. */
  readonly history: string
}

/** The writer of the entry at a position; undefined if the position is empty, or its entry cannot be read. */
type Writer = 'us' | 'others' | undefined

/** Writes entries into the log of a cluster, each in one transaction that a guard admits. */
export class EntryWriter {
  readonly #parts: EntryWriterParts

  constructor(parts: EntryWriterParts) {
    this.#parts = parts
  }

  /** Tries until there is an entry at this position, and returns whether it is this one. */
  async write(bytes: Uint8Array, { id, entry }: Envelope, since: number): Promise<boolean> {
    const { clock, log, values, hasEnded, pause } = this.#parts
    const history = this.#historyOf(entry)
    const until_ms = clock.monotonic_ms() + ANSWER_MS_MAX
    let value: Uint8Array | undefined
    // Whether an earlier try may have been executed, or may still be.
    let isOpen = false
    for (let tries = 0; ; tries += 1) {
      try {
        value ??= await values.sealed(logName(since + 1), bytes, since + 1, id)
        const writer = await this.#try(id, { value, since, history }, tries)
        // Others have written so much since that the position is cleared: its writer is unknown.
        if (writer === undefined && isOpen) throw noQuorum(isOpen)
        if (writer !== 'us') return false
        isOpen = true
        // An entry that may be lost with this node is not confirmed: the next try checks it again.
        await this.#parts.settle?.()
        return true
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error
        // A loss before there was a value leaves at most a part, which is never read.
        isOpen ||= value !== undefined && error.kind === 'unknown-outcome'
        if (hasEnded() || clock.monotonic_ms() >= until_ms) {
          log.warn('a change could not be written to the log of the cluster', { why: error.message })
          throw noQuorum(isOpen, error.kind === 'no-space')
        }
        await pause(AGAIN_MS)
      }
    }
  }

  /** Returns the history of the entries that follow this one. */
  #historyOf(entry: Entry): string {
    return entry.op === 'takeover' ? historyOf(entry.takeover) : this.#parts.history()
  }

  /**
   * Sends the entry. The guard admits it once, however often it is sent. If it was too late, the answer has the first
   * entry.
   */
  async #try(id: string, { value, since, history }: Attempt, tries: number): Promise<Writer> {
    const { etcd } = this.#parts
    const [name, guard] = [logName(since + 1), { put: GUARD, value: markerOf(history, since + 1) }]
    const compare = [{ key: GUARD, of: 'value', is: '=', than: markerOf(this.#parts.history(), since) }] as const
    const failure = [{ get: { key: name } }]
    const patience = tries < SHORT_TRIES ? SHORT_TRY : {}
    const answer = await etcd.transact({ compare, success: [{ put: name, value }, guard], failure }, patience)
    return answer.succeeded ? 'us' : await this.#writer(id, answer, since + 1)
  }

  /** Returns the writer of the entry found: an earlier try of the same entry may have been executed after all. */
  async #writer(id: string, { answers }: TransactionAnswer, position: number): Promise<Writer> {
    const [first] = answers
    const found = first?.did === 'get' ? first.range.kvs[0] : undefined
    if (found === undefined) return undefined
    try {
      const bytes = await this.#parts.values.opened(logName(position), found.value, position)
      return decodeEnvelope(bytes).id === id ? 'us' : 'others'
    } catch (error) {
      if (error instanceof EtcdError) throw error
      // Its parts are cleared, or it has another version: an own entry could be read.
      return error instanceof MissingPartError ? undefined : 'others'
    }
  }
}
