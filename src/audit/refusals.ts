import type { Clock } from '../base/clock.ts'

/** Refusals of one caller that get their own entries after a quiet time; then one per interval. */
const AT_ONCE = 30
const ONE_EVERY_MS = 300_000
/** While there are more refusals, one entry covers all begun requests of the caller within this time. */
const BEGINNING_EVERY_MS = 60_000
/**
 * Counted refusals are written before another entry of the same caller at most this often. Otherwise a caller that acts
 * in between could have each refusal written without using up its share.
 */
const TOLD_EVERY_MS = 60_000
/** There are few users; further ones were deleted long ago. */
const CALLERS_MAX = 10_000
/** Maximum number of kinds of requests that one entry counts separately. */
const KINDS_MAX = 20

/** Many refusals combined into one entry. */
export interface Repeated<E> {
  /** The last refusal. */
  readonly last: E
  readonly count: number
  /** Counts by endpoint. */
  readonly endpoints: Readonly<Record<string, number>>
  /** Time of the first refusal, ISO 8601. */
  readonly since: string
}

interface Caller<E> {
  left: number
  refilled_ms: number
  begun_ms: number
  told_ms: number
  repeated: Repeated<E> | undefined
}

/**
 * Combines refusals above a limit into one entry with a count. A refused caller needs no right at all, and so must not
 * be able to push older entries out of the audit log by being refused often. The counting itself refuses nothing.
 */
export class Refusals<E extends { readonly at: string; readonly endpoint: string }> {
  readonly #clock: Pick<Clock, 'monotonic_ms'>
  readonly #callers = new Map<string, Caller<E>>()

  constructor(clock: Pick<Clock, 'monotonic_ms'>) {
    this.#clock = clock
  }

  /** Returns whether this refusal gets its own entry; otherwise it is counted. */
  isOwnEntry(key: string, entry: E): boolean {
    const caller = this.#caller(key)
    if (caller.left > 0) {
      caller.left--
      return true
    }
    const { repeated } = caller
    const kind = repeated === undefined || isCounted(repeated, entry.endpoint) ? entry.endpoint : 'others'
    const endpoints = { ...repeated?.endpoints, [kind]: (repeated?.endpoints[kind] ?? 0) + 1 }
    const since = repeated?.since ?? entry.at
    caller.repeated = { last: entry, count: (repeated?.count ?? 0) + 1, endpoints, since }
    return false
  }

  /**
   * Returns the seconds that the entry of a beginning request covers: 0 for itself only; undefined if an earlier entry
   * covers it.
   */
  beginning_s(key: string): number | undefined {
    if (!this.#callers.has(key)) return 0
    const caller = this.#caller(key)
    if (caller.left > 0) return 0
    const now_ms = this.#clock.monotonic_ms()
    if (now_ms - caller.begun_ms < BEGINNING_EVERY_MS) return undefined
    caller.begun_ms = now_ms
    return BEGINNING_EVERY_MS / 1000
  }

  /** Refusals counted since the last report: for all callers, or for one caller at most once a minute. */
  take(key?: string): readonly Repeated<E>[] {
    const now_ms = this.#clock.monotonic_ms()
    const callers = key === undefined ? [...this.#callers.values()] : [this.#callers.get(key)]
    return callers.flatMap((caller) => {
      const repeated = caller?.repeated
      if (caller === undefined || repeated === undefined) return []
      if (key !== undefined && now_ms - caller.told_ms < TOLD_EVERY_MS) return []
      caller.repeated = undefined
      caller.told_ms = now_ms
      return [repeated]
    })
  }

  #caller(key: string): Caller<E> {
    const now_ms = this.#clock.monotonic_ms()
    let caller = this.#callers.get(key)
    if (caller === undefined) {
      if (this.#callers.size >= CALLERS_MAX) this.#forget()
      const never = Number.NEGATIVE_INFINITY
      caller = { left: AT_ONCE, refilled_ms: now_ms, begun_ms: never, told_ms: never, repeated: undefined }
      this.#callers.set(key, caller)
    }
    const refill = Math.floor((now_ms - caller.refilled_ms) / ONE_EVERY_MS)
    caller.refilled_ms += refill * ONE_EVERY_MS
    caller.left = Math.min(AT_ONCE, caller.left + refill)
    return caller
  }

  /** Forgets the oldest caller without unreported refusals. */
  #forget(): void {
    for (const [key, { repeated }] of this.#callers) {
      if (repeated !== undefined) continue
      this.#callers.delete(key)
      return
    }
  }
}

const isCounted = <E>({ endpoints }: Repeated<E>, endpoint: string) =>
  endpoint in endpoints || Object.keys(endpoints).length < KINDS_MAX
