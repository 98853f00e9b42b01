import { requestLine } from '../../src/drivers/haproxy/cli.ts'
import { exchange, exchangeWithRetry, isAbsent, UnansweredError } from './exchange.ts'
import type { SocketTarget } from './messages.ts'

/** A master has ten places for clients: this many for polls, and half are left for commands. */
export const AT_ONCE = 2

/** The process that a question is for, so that a process which still owes an answer is not asked again. */
export type About = 'poll' | 'process' | number

/**
 * The questions to one HAProxy. A question that timed out is not asked again before the other side has closed its
 * connection.
 */
export class Questions {
  readonly target: SocketTarget
  readonly #unanswered = new Map<About, UnansweredError>()
  /** The last poll was refused, or there was none: another refusal is no brief gap between two processes. */
  #isAbsent = true

  constructor(target: SocketTarget) {
    this.target = target
  }

  /** Whether there is a place for a question that can wait. */
  get hasPlace(): boolean {
    return this.#unanswered.size < AT_ONCE
  }

  /** Rejects with a sentence about HAProxy ("it …", "its …"). */
  async ask(
    about: About,
    commands: readonly string[],
    timeout_ms: number,
    ask: typeof exchange = exchange,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const owed = this.#unanswered.get(about)
    if (owed !== undefined) throw owed
    try {
      return await ask(this.target, requestLine(...commands), timeout_ms)
    } catch (error) {
      if (error instanceof UnansweredError) this.#await(about, error)
      throw error
    }
  }

  /** Like `ask`, but retries a refused connection for a moment, unless the previous poll was refused as well. */
  async poll(commands: readonly string[], timeout_ms: number): Promise<Uint8Array<ArrayBuffer>> {
    try {
      const answer = await this.ask('poll', commands, timeout_ms, this.#isAbsent ? exchange : exchangeWithRetry)
      this.#isAbsent = false
      return answer
    } catch (error) {
      this.#isAbsent = isAbsent(error)
      throw error
    }
  }

  #await(about: About, error: UnansweredError): void {
    this.#unanswered.set(about, error)
    void error.ended.then(() => this.#unanswered.delete(about))
  }
}
