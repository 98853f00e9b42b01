import { ApiError } from '../base/errors.ts'

type Kind = 'caller' | 'maintenance'

const waits = (who: Kind, holder: Kind) => who === 'maintenance' || holder === 'maintenance'

/**
 * Lets one task at a time work on the machine. Maintenance is the daemon's own work: callers wait for it instead of
 * being refused.
 */
export class Exclusive {
  #holder: { readonly kind: Kind; readonly done: Promise<unknown> } | undefined

  get busy(): boolean {
    return this.#holder !== undefined
  }

  /** Whether a caller's apply is under way, and not only maintenance by the daemon. */
  get isCalled(): boolean {
    return this.#holder?.kind === 'caller'
  }

  /** Refuses a caller with APPLY_IN_PROGRESS while another one works; maintenance waits for its turn. */
  async run<T>(kind: Kind, work: () => Promise<T>): Promise<T> {
    while (this.#holder !== undefined && waits(kind, this.#holder.kind)) await this.#holder.done
    if (this.#holder !== undefined) {
      throw new ApiError('APPLY_IN_PROGRESS', 'Another apply is running; try again in a second', {
        headers: { 'Retry-After': '1' },
      })
    }
    const working = work()
    this.#holder = { kind, done: working.catch(() => undefined) }
    try {
      return await working
    } finally {
      this.#holder = undefined
    }
  }

  /** Resolves when nothing holds the machine. */
  async idle(): Promise<void> {
    while (this.#holder !== undefined) await this.#holder.done
  }
}
