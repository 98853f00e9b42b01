import { createHmac, randomBytes } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { sameText } from '../base/same-text.ts'

/** Uses that are remembered at once; each took a signed answer, or a judgement. */
const REMEMBERED_MAX = 100_000

/** What has begun a login, as tickets say it. */
const [PAGE, PROGRAM] = ['page', 'program']

interface Issued {
  readonly requestId: string
  readonly until_ms: number
  readonly isForPage: boolean
}

/**
 * Says of each login that is under way which request it began with. The ticket is kept by the browser and by nobody
 * else, so that however many are begun, none makes another one invalid; only what was used is remembered, for as long
 * as it would count.
 */
export class Tickets {
  readonly #clock: Clock
  readonly #life_ms: number
  readonly #failures_max: number
  /** Of this process: a restart ends logins that are under way. */
  readonly #key = randomBytes(32)
  /** Requests in the order in which they end: how often each was judged in vain; Infinity if it was used. */
  readonly #spent = new Map<string, { readonly until_ms: number; failures: number }>()

  constructor(clock: Clock, life_ms: number, failures_max: number) {
    this.#clock = clock
    this.#life_ms = life_ms
    this.#failures_max = failures_max
  }

  /** A new request, and its ticket. `isForPage`: of a login that the admin page has begun. */
  issue(isForPage = false): { readonly requestId: string; readonly ticket: string } {
    // An XML id begins with a letter or an underscore.
    const requestId = `_${randomBytes(20).toString('hex')}`
    const until = Math.floor(this.#clock.monotonic_ms() + this.#life_ms)
    const said = `${requestId}.${until}.${isForPage ? PAGE : PROGRAM}`
    return { requestId, ticket: `${said}.${this.#seal(said)}` }
  }

  /** The request of a ticket that still counts. */
  requestOf(ticket: string): string | undefined {
    const issued = this.issued(ticket)
    if (issued === undefined || issued.until_ms <= this.#clock.monotonic_ms()) return undefined
    const { requestId } = issued
    return (this.#spent.get(requestId)?.failures ?? 0) < this.#failures_max ? requestId : undefined
  }

  /** What a ticket of this process says, whether it still counts or not. */
  issued(ticket: string): Issued | undefined {
    const [requestId = '', until = '', begun = '', seal = ''] = ticket.split('.', 4)
    if (!sameText(this.#seal(`${requestId}.${until}.${begun}`), seal)) return undefined
    return { requestId, until_ms: Number(until), isForPage: begun === PAGE }
  }

  /** Whether it was this call that used it. */
  use(requestId: string): boolean {
    const entry = this.#entry(requestId)
    if (entry.failures === Infinity) return false
    entry.failures = Infinity
    return true
  }

  failed(requestId: string): void {
    this.#entry(requestId).failures += 1
  }

  /** What else belongs to a request, and nobody but this process can tell. */
  derived(requestId: string, purpose: string): string {
    // No id holds a space, so that this is the seal of no ticket.
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
