/**
 * Limit for the bytes of answers and streams, over all connections, that clients have not accepted. Enough for a few of
 * the largest answers.
 */
const UNSENT_BYTES_MAX = 128 * 1_024 * 1_024

/** The bytes that wait for one connection. */
export interface Held {
  /**
   * Sets the bytes that wait, after an answer has begun or the client has accepted or sent some. May end connections.
   */
  moved(bytes: number): void
  /** Adds to the bytes that wait. */
  grown(bytes: number): void
  /** Call when nothing is left, or the client is gone. */
  end(): void
}

interface Owed {
  bytes: number
  readonly close: () => void
}

/**
 * Counts the bytes that wait for clients to accept them, or to send the rest. If there are too many, the connections of
 * the clients that were idle for longest end.
 */
export class Unsent {
  readonly #bytes_max: number
  /** In the order of their last progress. */
  readonly #owed = new Set<Owed>()
  #bytes = 0

  constructor(bytes_max = UNSENT_BYTES_MAX) {
    this.#bytes_max = bytes_max
  }

  /** Bytes over all connections. */
  get bytes(): number {
    return this.#bytes
  }

  /** Begins with no bytes; `close` ends the connection. */
  hold(close: () => void): Held {
    const owed = { bytes: 0, close }
    this.#owed.add(owed)
    return {
      moved: (left) => {
        if (this.#owed.delete(owed)) this.#owed.add(owed)
        this.#set(owed, left)
      },
      grown: (more) => this.#set(owed, owed.bytes + more),
      end: () => this.#forget(owed),
    }
  }

  #set(owed: Owed, bytes: number): void {
    if (!this.#owed.has(owed)) return
    this.#bytes += bytes - owed.bytes
    owed.bytes = bytes
    for (const oldest of this.#owed) {
      if (this.#bytes <= this.#bytes_max) return
      if (oldest.bytes === 0) continue
      this.#forget(oldest)
      oldest.close()
    }
  }

  #forget(owed: Owed): void {
    if (this.#owed.delete(owed)) this.#bytes -= owed.bytes
  }
}
