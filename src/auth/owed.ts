import type { SideTable } from '../../storage/config/config-store.ts'
import { ApiError } from '../base/errors.ts'

export const isNoQuorum = (error: unknown) => error instanceof ApiError && error.code === 'NO_QUORUM'

/**
 * Rows that have taken effect on this node and could not be shared with the others, for lack of a quorum: what has
 * ended must not become valid again if the daemon ends before they are shared. Keys are those of the shared table `of`.
 */
export class Owed<V> {
  readonly #table: SideTable
  readonly #prefix: string
  /** Whether a row has expired anyway, so that a start may drop it. */
  readonly #isOver: (value: V) => boolean
  readonly #rows = new Map<string, V>()
  /** The rows that are on the disk. */
  readonly #kept = new Map<string, V>()

  constructor(table: SideTable, of: string, isOver: (value: V) => boolean = () => false) {
    this.#table = table
    this.#prefix = `${of} `
    this.#isOver = isOver
    for (const { key, value } of table.entries()) {
      if (!key.startsWith(this.#prefix)) continue
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `keep` only
      this.#kept.set(key.slice(this.#prefix.length), value as V)
    }
    for (const [key, value] of this.#kept) this.#rows.set(key, value)
  }

  has(key: string): boolean {
    return this.#rows.has(key)
  }

  entries(): readonly (readonly [string, V])[] {
    return [...this.#rows]
  }

  note(key: string, value: V): void {
    this.#rows.set(key, value)
  }

  /** Shares the rows with `tell`. If there is no quorum, they are durable here before this rejects. */
  async pay(tell: (keys: readonly string[]) => Promise<unknown>): Promise<void> {
    const paid = this.entries()
    if (paid.length === 0) return
    try {
      await tell(paid.map(([key]) => key))
    } catch (error) {
      if (isNoQuorum(error)) await this.keep()
      throw error
    }
    // A row that was noted again meanwhile stays owed.
    for (const [key, value] of paid) if (this.#rows.get(key) === value) this.#rows.delete(key)
    if (this.#kept.size > 0) await this.keep()
  }

  /** When it resolves, exactly the noted rows are durable. */
  async keep(): Promise<void> {
    const wanted = new Map([...this.#rows].filter(([, value]) => !this.#isOver(value)))
    const puts = [...wanted].filter(([key, value]) => this.#kept.get(key) !== value)
    const removed = [...this.#kept.keys()].filter((key) => !wanted.has(key))
    if (puts.length + removed.length === 0) return
    await this.#table.write(
      puts.map(([key, value]) => ({ key: this.#prefix + key, value })),
      removed.map((key) => this.#prefix + key),
    )
    for (const [key, value] of puts) this.#kept.set(key, value)
    for (const key of removed) this.#kept.delete(key)
  }
}

/** Returns the refusal for sessions and tokens that ended without a quorum. */
export const endedHere = () =>
  new ApiError(
    'NO_QUORUM',
    'The cluster accepts no changes at the moment. The session or token has ended on this node, also after a restart, and ends on the others once the cluster accepts changes again; nothing else was changed',
  )
