import { createHmac, randomBytes } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { sameText } from '../base/same-text.ts'

/** Maximum number of used tickets that are remembered; each needed a signed answer, or a judgement. */
const REMEMBERED_MAX = 100_000

/** Where a login began. */
const [PAGE, PROGRAM] = ['page', 'program']

interface Issued {
  readonly requestId: string
  readonly until_ms: number
  readonly isForPage: boolean
}

/**
 * Tickets that identify the request with which a login began. Only the browser stores its ticket, so the number of
 * logins under way is unlimited and none invalidates another; only used tickets are remembered, until they would
 * expire.
 */
export class Tickets {
  readonly #clock: Clock
  readonly #life_ms: number
  readonly #failures_max: number
  /** Per process: a restart ends logins under way. */
  readonly #key = randomBytes(32)
  /** Used requests in the order of their expiry: the number of failed judgements; Infinity if it succeeded. */
  readonly #spent = new Map<string, { readonly until_ms: number; failures: number }>()

  constructor(clock: Clock, life_ms: number, failures_max: number) {
    this.#clock = clock
    this.#life_ms = life_ms
    this.#failures_max = failures_max
  }

  /** Issues a new request with its ticket. `isForPage`: the admin page has begun the login. */
  issue(isForPage = false): { readonly requestId: string; readonly ticket: string } {
    // An XML id begins with a letter or an underscore.
    const requestId = `_${randomBytes(20).toString('hex')}`
    const until = Math.floor(this.#clock.monotonic_ms() + this.#life_ms)
    const said = `${requestId}.${until}.${isForPage ? PAGE : PROGRAM}`
    return { requestId, ticket: `${said}.${this.#seal(said)}` }
  }

  /** Returns the request of a valid ticket. */
  requestOf(ticket: string): string | undefined {
    const issued = this.issued(ticket)
    if (issued === undefined || issued.until_ms <= this.#clock.monotonic_ms()) return undefined
    const { requestId } = issued
    return (this.#spent.get(requestId)?.failures ?? 0) < this.#failures_max ? requestId : undefined
  }

  /** Returns the contents of a ticket of this process, expired or not. */
  issued(ticket: string): Issued | undefined {
    const [requestId = '', until = '', begun = '', seal = ''] = ticket.split('.', 4)
    if (!sameText(this.#seal(`${requestId}.${until}.${begun}`), seal)) return undefined
    return { requestId, until_ms: Number(until), isForPage: begun === PAGE }
  }

  /** Marks a request as used; returns whether this call did it. */
  use(requestId: string): boolean {
    const entry = this.#entry(requestId)
    if (entry.failures === Infinity) return false
    entry.failures = Infinity
    return true
  }

  failed(requestId: string): void {
    this.#entry(requestId).failures += 1
  }

  /** Returns a value that belongs to a request and that only this process can compute. */
  derived(requestId: string, purpose: string): string {
    // No id contains a space, so this never equals the seal of a ticket.
    return this.#seal(`${purpose} ${requestId}`)
  }

  #entry(requestId: string) {
    const known = this.#spent.get(requestId)
    if (known !== undefined) return known
    const now_ms = this.#clock.monotonic_ms()
    for (const [id, { until_ms }] of this.#spent) {
      if (until_ms > now_ms && this.#spent.size < REMEMBERED_MAX) break
      this.#spent.delete(id)
    }
    const entry = { until_ms: now_ms + this.#life_ms, failures: 0 }
    this.#spent.set(requestId, entry)
    return entry
  }

  #seal(said: string): string {
    return createHmac('sha256', this.#key).update(said).digest('base64url')
  }
}
