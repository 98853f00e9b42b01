import type { ObjectPlace } from '../../workers/archive/messages.ts'
import { type ArchiveObject, type ObjectKind, objectKey } from '../../storage/archive/catalog.ts'
import type { ReadableObject } from '../../storage/archive/tier-reader.ts'

/** Where the archive keeps each object: by name, as the archive thread announces it. */
export class ArchiveObjects {
  readonly #byKey = new Map<string, ReadableObject>()
  readonly #keys = new Map<number, string>()

  /** All that earlier runs have stored, then what the thread has placed in its ring. */
  reset(stored: readonly ArchiveObject[], placed: readonly ObjectPlace[]): void {
    this.#byKey.clear()
    this.#keys.clear()
    for (const { id, kind, name, backend } of stored) this.#set(id, kind, name, backend, -1)
    this.add(placed)
  }

  add(places: readonly ObjectPlace[]): void {
    for (const { objectId, kind, name, backend, slot } of places) this.#set(objectId, kind, name, backend, slot)
  }

  /** The objects are gone from the ring; what is stored of them stays readable. */
  remove(ids: readonly number[]): void {
    for (const id of ids) {
      const key = this.#keys.get(id)
      if (key !== undefined) this.#byKey.set(key, { id, slot: -1 })
    }
  }

  /** Nothing of these is kept any more. */
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
