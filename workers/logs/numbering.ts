import type { LineNumber } from './line.ts'

/** A hole that is not filled after this time is a loss. One of HAProxy's threads may stand still in between. */
const PATIENCE_MS = 5_000
/** A larger gap is not explained by late lines. */
const HOLES_MAX = 1_000

interface Counted {
  next: number
  /** Missing numbers, with the time at which each was noticed. */
  readonly holes: Map<number, number>
  /** Whether lines may be repeats, until a new number comes. */
  isAgain: boolean
}

/**
 * Finds missing and repeated lines. HAProxy numbers the lines of a frontend in each of its processes; two of its
 * threads may write lines out of order, or give a number twice and skip the next one.
 */
export class Numbering {
  readonly #counted = new Map<string, Counted>()
  #lost = 0

  /** Takes `seen` and `holes` of an earlier run. */
  constructor(seen: unknown = {}, holes: unknown = {}) {
    for (const [key, next] of Object.entries(seen ?? {})) {
      if (typeof next !== 'number') continue
      // Sound: it is stored beside `seen`, by the same code.
      const missing = (holes as Readonly<Record<string, readonly number[]>>)[key] ?? []
      // Their time begins when the process is read.
      const open = new Map(missing.map((number) => [number, Number.POSITIVE_INFINITY]))
      this.#counted.set(key, { next, holes: open, isAgain: true })
    }
  }

  /** The number after the last one, per frontend and process. */
  get seen(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#counted].map(([key, { next }]) => [key, next]))
  }

  /** Numbers before `seen` that may still come: a run that begins in between must not treat them as repeats. */
  get holes(): Readonly<Record<string, readonly number[]>> {
    const open = [...this.#counted].filter(([, { holes }]) => holes.size > 0)
    return Object.fromEntries(open.map(([key, { holes }]) => [key, [...holes.keys()]]))
  }

  /** The lines of this process are sent again, from the oldest that it has. */
  again(pid: number, now_ms: number): void {
    for (const [key, counted] of this.#counted) {
      if (!key.startsWith(`${pid} `)) continue
      counted.isAgain = true
      for (const number of counted.holes.keys()) counted.holes.set(number, now_ms)
    }
  }

  /** Drops ended processes, which send nothing more; their holes are losses. */
  keepOnly(pids: ReadonlySet<number>): void {
    for (const [key, { holes }] of this.#counted) {
      if (pids.has(Number(key.split(' ')[0]))) continue
      this.#lost += holes.size
      this.#counted.delete(key)
    }
  }

  /** Returns false for a line that was taken before. */
  take({ pid, frontend, number }: LineNumber, now_ms: number): boolean {
    const key = `${pid} ${frontend}`
    const counted = this.#counted.get(key) ?? { next: 0, holes: new Map<number, number>(), isAgain: false }
    this.#counted.set(key, counted)
    if (number >= counted.next) {
      this.#skip(counted, number, now_ms)
      counted.next = number + 1
      counted.isAgain = false
      return true
    }
    if (counted.holes.delete(number)) return true
    if (counted.isAgain) return false
    // This number was given twice, so another one was skipped.
    const [spare] = counted.holes.keys()
    if (spare === undefined) this.#lost--
    else counted.holes.delete(spare)
    return true
  }

  #skip({ next, holes }: Counted, number: number, now_ms: number): void {
    if (number - next + holes.size > HOLES_MAX) this.#lost += number - next
    else for (let hole = next; hole < number; hole++) holes.set(hole, now_ms)
  }

  /** Returns the lines that were lost since the last call. */
  lost(now_ms: number): number {
    for (const { holes } of this.#counted.values()) {
      for (const [number, since_ms] of holes) {
        if (now_ms - since_ms < PATIENCE_MS) continue
        holes.delete(number)
        this.#lost++
      }
    }
    // The count may be negative, because a number given twice makes up for one that is missed later.
    const lost = Math.max(0, this.#lost)
    this.#lost -= lost
    return lost
  }
}
