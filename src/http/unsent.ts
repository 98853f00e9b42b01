/**
 * Bytes of all connections: answers, or parts of streams, that their clients have not taken. Enough for a few of the
 * largest answers.
 */
const UNSENT_BYTES_MAX = 128 * 1_024 * 1_024

/** What one connection is owed. */
export interface Held {
  /** Bytes that wait now, of an answer that has just begun or that the client takes or sends. May end connections. */
  moved(bytes: number): void
  /** Bytes that were added to what waits. */
  grown(bytes: number): void
  /** Nothing is left, or the client is gone. */
  end(): void
}

interface Owed {
  bytes: number
  readonly close: () => void
}

/**
 * Bytes that wait for clients: to take them, or to send the rest. When they are too many, those go whose clients have
 * done nothing for longest.
 */
export class Unsent {
  readonly #bytes_max: number
  /** The one that has moved last comes last. */
  readonly #owed = new Set<Owed>()
  #bytes = 0

  constructor(bytes_max = UNSENT_BYTES_MAX) {
    this.#bytes_max = bytes_max
  }

  /** In all. */
  get bytes(): number {
    return this.#bytes
  }

  /** Nothing yet; `close` ends the connection. */
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
