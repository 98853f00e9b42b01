import { CheckedTable, type RowWrite } from './checked-table.ts'

/**
 * Single values of the store, some of which are read every second, so values are cached until they are written again.
 * Any read of LMDB writes to its lock file, and blocks while the disk of that file hangs or its file system is frozen.
 */
export class MetaTable extends CheckedTable<unknown> {
  readonly #read = new Map<string, unknown>()
  /** Keys of the transaction that is being assembled. */
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

  /** Called when the queued values are written, or never will be. A read in between returned the old value. */
  settle(isWritten: boolean): void {
    for (const key of isWritten ? this.#queued : []) this.#read.delete(key)
    this.#queued.clear()
  }
}
