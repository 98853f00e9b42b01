import type { Clock } from '../base/clock.ts'

/** Refusals of one caller that are entries of their own, when none came for a while; then one in each interval. */
const AT_ONCE = 30
const ONE_EVERY_MS = 300_000
/** While more come than that, one entry stands for all beginnings of the caller in this time. */
const BEGINNING_EVERY_MS = 60_000
/**
 * Counted refusals are written before an entry of the same caller at most this often. Otherwise a caller that does
 * something in between would have each refusal written, without using up its own share.
 */
const TOLD_EVERY_MS = 60_000
/** Users are few; what is more than this was deleted long ago. */
const CALLERS_MAX = 10_000
/** Kinds of requests that one entry counts apart. */
const KINDS_MAX = 20

/** What many refusals have become: one entry. */
export interface Repeated<E> {
  /** The last of them. */
  readonly last: E
  readonly count: number
  /** Counts by endpoint. */
  readonly endpoints: Readonly<Record<string, number>>
  /** When the first of them came, ISO 8601. */
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
 * A caller that is refused needs no right at all, so nobody may push older entries out of the audit log by being
 * refused often. Refusals above a bound become one entry with a count. Nothing is refused because of the counting.
 */
export class Refusals<E extends { readonly at: string; readonly endpoint: string }> {
  readonly #clock: Pick<Clock, 'monotonic_ms'>
  readonly #callers = new Map<string, Caller<E>>()

  constructor(clock: Pick<Clock, 'monotonic_ms'>) {
    this.#clock = clock
  }

  /** Whether this refusal is an entry of its own; otherwise it is counted. */
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
   * Seconds that the entry of this beginning stands for: 0 for itself alone; undefined when an earlier one stands for
   * it.
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

  /** What was counted since it was told last: of all callers, or of one, and of that once a minute. */
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

  /** The one that was made first, and of which nothing waits to be told. */
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
