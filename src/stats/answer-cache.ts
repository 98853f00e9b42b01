import type { Rendered } from '../context/rendered.ts'

/**
 * Size of the cache of whole history answers: closed buckets never change, and pollers of the same second ask for the
 * same window.
 */
export const HISTORY_CACHE_BYTES = 16 * 1_024 * 1_024
/** Answers larger than this are not kept: they would push out the many small ones. */
export const HISTORY_CACHE_ENTRY_BYTES = 2 * 1_024 * 1_024

/** Number of remembered answers that were requested once: a window that is requested again soon is worth keeping. */
const ASKED_ONCE_MAX = 1_024

/**
 * The answer for one window: always the same bytes for a window that is over; for an open window, everything so far.
 */
export interface HistoryAnswer {
  readonly whole: Rendered<Uint8Array>
  readonly ofNow: Rendered<Uint8Array>
}

interface Kept {
  readonly answer: HistoryAnswer
  isUsed: boolean
}

/** A cache of whole history answers, bounded by bytes; answers that were not requested lately are dropped first. */
export class AnswerCache {
  readonly #answers = new Map<string, Kept>()
  readonly #asked = new Set<string>()
  #bytes = 0

  /** Whether this answer is requested for the second time: windows that move on are requested once and need no room. */
  wants(key: string): boolean {
    if (this.#asked.delete(key)) return true
    if (this.#asked.size >= ASKED_ONCE_MAX) this.#asked.clear()
    this.#asked.add(key)
    return false
  }

  get(key: string): HistoryAnswer | undefined {
    const kept = this.#answers.get(key)
    if (kept === undefined) return undefined
    kept.isUsed = true
    return kept.answer
  }

  put(key: string, answer: HistoryAnswer): void {
    const size = answer.whole.body.length
    if (size > HISTORY_CACHE_ENTRY_BYTES || this.#answers.has(key)) return
    this.#answers.set(key, { answer, isUsed: false })
    this.#bytes += size
    for (const [oldest, kept] of this.#answers) {
      if (this.#bytes <= HISTORY_CACHE_BYTES) return
      this.#answers.delete(oldest)
      if (kept.isUsed) {
        // Requested since it was last the oldest: it moves to the end of the queue.
        kept.isUsed = false
        this.#answers.set(oldest, kept)
      } else this.#bytes -= kept.answer.whole.body.length
    }
  }

  clear(): void {
    this.#answers.clear()
    this.#asked.clear()
    this.#bytes = 0
  }

  get size_bytes(): number {
    return this.#bytes
  }
}
