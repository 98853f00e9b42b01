import type { ObjectPlace } from '../../workers/archive/messages.ts'
import { type ArchiveObject, type ObjectKind, objectKey } from '../../storage/archive/catalog.ts'
import type { ReadableObject } from '../../storage/archive/tier-reader.ts'

/** The archive's place of each object, by name, as the archive thread announces it. */
export class ArchiveObjects {
  readonly #byKey = new Map<string, ReadableObject>()
  readonly #keys = new Map<number, string>()

  /** Starts with everything that earlier runs have stored, then the objects that the thread has placed in its ring. */
  reset(stored: readonly ArchiveObject[], placed: readonly ObjectPlace[]): void {
    this.#byKey.clear()
    this.#keys.clear()
    for (const { id, kind, name, backend } of stored) this.#set(id, kind, name, backend, -1)
    this.add(placed)
  }

  add(places: readonly ObjectPlace[]): void {
    for (const { objectId, kind, name, backend, slot } of places) this.#set(objectId, kind, name, backend, slot)
  }

  /** Removes objects that have left the ring; their stored data stays readable. */
  remove(ids: readonly number[]): void {
    for (const id of ids) {
      const key = this.#keys.get(id)
      if (key !== undefined) this.#byKey.set(key, { id, slot: -1 })
    }
  }

  /** Removes objects without any data left. */
  forget(ids: readonly number[]): void {
    for (const id of ids) {
      const key = this.#keys.get(id)
      if (key !== undefined) this.#byKey.delete(key)
      this.#keys.delete(id)
    }
  }

  #set(id: number, kind: ObjectKind, name: string, backend: string, slot: number): void {
    const key = objectKey(kind, name, backend)
    this.#byKey.set(key, { id, slot })
    this.#keys.set(id, key)
  }

  find(kind: ObjectKind, name: string, backend: string): ReadableObject | undefined {
    return this.#byKey.get(objectKey(kind, name, backend))
  }
}
