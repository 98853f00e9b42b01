import { fieldEnd, fieldText, kindOf, type StatRows } from '../../src/drivers/haproxy/stats-csv.ts'
import type { ArchiveObject, ObjectKind } from '../../storage/archive/catalog.ts'

/** Finds or creates the object of a row; `undefined` beyond the archive's cap. */
export type EnsureObject = (kind: ObjectKind, name: string, backend: string) => ArchiveObject | undefined

/**
 * Maps the rows of a poll to objects. HAProxy lists its objects in the same order every time, so the bytes of the names
 * are compared with the previous poll's; only when they differ are strings made and objects looked up.
 */
export class RowMap {
  /** Object per row; its slot in the ring is read from it, because the slot can change. */
  readonly objects: (ArchiveObject | undefined)[] = []
  /** Changes with the set or the order of the rows. */
  layout = 0
  #names = new Uint8Array(0)
  #ends = new Uint32Array(0)
  #kinds = new Uint8Array(0)
  #count = -1

  update(bytes: Uint8Array, rows: StatRows, ensure: EnsureObject): void {
    if (!this.#same(bytes, rows)) this.#rebuild(bytes, rows, ensure)
  }

  #same(bytes: Uint8Array, rows: StatRows): boolean {
    if (rows.count !== this.#count) return false
    let at = 0
    for (let row = 0; row < rows.count; row++) {
      if (this.#kinds[row] !== rows.kinds[row]) return false
      const end = this.#ends[row] ?? 0
      let source = rows.starts[row] ?? 0
      if ((rows.nameEnds[row] ?? 0) - source !== end - at) return false
      for (; at < end; at++, source++) if (this.#names[at] !== bytes[source]) return false
    }
    return true
  }

  #rebuild(bytes: Uint8Array, rows: StatRows, ensure: EnsureObject): void {
    this.layout++
    this.#count = rows.count
    this.#kinds = rows.kinds.slice(0, rows.count)
    this.#ends = new Uint32Array(rows.count)
    let size = 0
    for (let row = 0; row < rows.count; row++) size += (rows.nameEnds[row] ?? 0) - (rows.starts[row] ?? 0)
    this.#names = new Uint8Array(size)
    this.objects.length = 0
    let at = 0
    for (let row = 0; row < rows.count; row++) {
      const start = rows.starts[row] ?? 0
      const end = rows.nameEnds[row] ?? 0
      this.#names.set(bytes.subarray(start, end), at)
      at += end - start
      this.#ends[row] = at
      this.objects.push(objectOf(bytes, start, rows.kinds[row] ?? 0, ensure))
    }
  }
}

function objectOf(bytes: Uint8Array, start: number, type: number, ensure: EnsureObject): ArchiveObject | undefined {
  const [kind, proxy] = [kindOf(type), fieldText(bytes, start)]
  return kind === 'server' ? ensure(kind, fieldText(bytes, fieldEnd(bytes, start) + 1), proxy) : ensure(kind, proxy, '')
}
