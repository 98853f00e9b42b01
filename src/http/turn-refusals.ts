/** Refusals answered per turn of the event loop; this many take some milliseconds. */
const ANSWERED_MAX = 64

/**
 * uWebSockets.js serves all requests of one read in one turn: ten thousand refused requests, sent in one piece by a
 * client that never logged in, would delay everybody else. Beyond a limit per turn their connections end instead, which
 * drops the rest of what was read from them.
 */
export class TurnRefusals {
  #answered = 0

  /** Counts the answer if it is a refusal. */
  areTooMany(status: number): boolean {
    if (status < 400) return false
    if (this.#answered === 0) setImmediate(() => (this.#answered = 0))
    this.#answered += 1
    return this.#answered > ANSWERED_MAX
  }
}
