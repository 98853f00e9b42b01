import { CheckedTable, type RowWrite } from './checked-table.ts'

/**
 * Notes of the store, some of which are looked at each second: what was read once is read from memory until it is
 * written again. A read of LMDB writes to its lock file, and waits for as long as that file's disk hangs, or its file
 * system is frozen.
 */
export class MetaTable extends CheckedTable<unknown> {
  readonly #read = new Map<string, unknown>()
  /** Keys of the transaction that is being written. */
  readonly #queued = new Set<string>()

  override get(key: string): unknown {
    if (this.#read.has(key)) return this.#read.get(key)
    const value = super.get(key)
    this.#read.set(key, value)
    return value
  }

  override put(key: string, value: unknown): RowWrite {
    return this.#noted(super.put(key, value), key)
  }

  override remove(key: string): RowWrite {
    return this.#noted(super.remove(key), key)
  }

  #noted(row: RowWrite, key: string): RowWrite {
    const queue = () => {
      row.queue()
      this.#queued.add(key)
    }
    return { bytes: row.bytes, queue }
  }

  /** What was queued is written, or never will be. What was read in between was the value before. */
  settle(isWritten: boolean): void {
    for (const key of isWritten ? this.#queued : []) this.#read.delete(key)
    this.#queued.clear()
  }
}
