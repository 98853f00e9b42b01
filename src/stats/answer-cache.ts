import type { Rendered } from '../context/rendered.ts'

/** Whole history answers kept: closed buckets never change, and pollers of the same second ask the same window. */
export const HISTORY_CACHE_BYTES = 16 * 1_024 * 1_024
/** Answers larger than this are not kept: they would push out the many small ones. */
export const HISTORY_CACHE_ENTRY_BYTES = 2 * 1_024 * 1_024

/** Answers asked for once that are remembered: a window that is asked for again soon is worth keeping. */
const ASKED_ONCE_MAX = 1_024

/** The same bytes for a window that is over, and for an open window of which this is everything so far. */
export interface HistoryAnswer {
  readonly whole: Rendered<Uint8Array>
  readonly ofNow: Rendered<Uint8Array>
}

interface Kept {
  readonly answer: HistoryAnswer
  isUsed: boolean
}

/** Whole history answers, bounded by bytes; one that nobody asked for lately goes first. */
export class AnswerCache {
  readonly #answers = new Map<string, Kept>()
  readonly #asked = new Set<string>()
  #bytes = 0

  /** Whether this answer is asked for the second time: windows that move on are asked for once and need no room. */
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
        // Asked for since it last was the oldest: it goes to the end of the line.
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
