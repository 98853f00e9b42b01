import { ARCHIVE_OBJECTS_MAX, OBJECT_GONE_AFTER_S } from '../limits.ts'
import { type ArchiveObject, encodeObject, type ObjectKind, objectKey } from './catalog.ts'
import { type ArchiveDatabases, META_NEXT_ID } from './databases.ts'
import { makeKey } from './layout.ts'
import type { RingWriter } from './ring.ts'

export interface SlotChanges {
  readonly added: ArchiveObject[]
  readonly removed: number[]
  readonly slabs: number[]
  /** Numbers of objects that are removed from the archive. */
  readonly forgotten: number[]
}

const NO_CHANGES = (): SlotChanges => ({ added: [], removed: [], slabs: [], forgotten: [] })

/** The objects of the archive: their permanent numbers, and their slots in the ring while they are alive. */
export class ObjectRegistry {
  /** Sorted by number. */
  objects: ArchiveObject[]
  /** Objects that may have something to write, sorted by number, so that writes append; recomputed after changes. */
  #active: readonly ArchiveObject[] | undefined
  /** Objects seen after this second may have an open chunk in some tier. */
  #activeSince_s = 0
  /** Catalog entries to store with the next commit. */
  readonly unsaved = new Set<ArchiveObject>()
  /** Numbers whose catalog entries are removed with the next commit. */
  readonly expired = new Set<number>()
  nextId: number
  readonly #ring: RingWriter
  readonly #byKey: Map<string, ArchiveObject>
  #slots = 0
  readonly #freeSlots: number[] = []
  #changes = NO_CHANGES()
  #refused = false

  constructor(objects: ArchiveObject[], nextId: number, ring: RingWriter) {
    this.objects = objects
    this.nextId = nextId
    this.#ring = ring
    this.#byKey = new Map(objects.map((object) => [objectKey(object.kind, object.name, object.backend), object]))
  }

  /** Returns the live objects, and dead ones with an open chunk: old catalog entries cost nothing each second. */
  active(): readonly ArchiveObject[] {
    this.#active ??= this.objects.filter(({ slot, seen_s }) => slot >= 0 || seen_s > this.#activeSince_s)
    return this.#active
  }

  /** Number of slots that are or were in use. */
  get slots(): number {
    return this.#slots
  }

  /** Returns the object of this name with a slot in the ring, and creates it if needed. `undefined` beyond the cap. */
  ensure(kind: ObjectKind, name: string, backend: string, now_s: number): ArchiveObject | undefined {
    const known = this.#byKey.get(objectKey(kind, name, backend))
    if (known !== undefined && known.slot >= 0) return known
    if (this.#slots - this.#freeSlots.length >= ARCHIVE_OBJECTS_MAX) {
      this.#refused = true
      return undefined
    }
    const object = known ?? this.#make(kind, name, backend, now_s)
    if (object.died_s !== undefined) {
      object.died_s = undefined
      this.unsaved.add(object)
    }
    this.place(object)
    return object
  }

  #make(kind: ObjectKind, name: string, backend: string, now_s: number): ArchiveObject {
    const id = this.nextId++
    const object: ArchiveObject = { id, kind, name, backend, born_s: now_s, died_s: undefined, slot: -1, seen_s: now_s }
    this.#byKey.set(objectKey(kind, name, backend), object)
    this.objects.push(object)
    this.unsaved.add(object)
    return object
  }

  place(object: ArchiveObject): void {
    this.#active = undefined
    object.slot = this.#freeSlots.pop() ?? this.#slots++
    const made = this.#ring.own(object.slot, object.id)
    if (made !== undefined) this.#changes.slabs.push(made)
    this.#changes.added.push(object)
  }

  /** Records when each object had its last sample in [from, to) of a ring. */
  noteSeen(ring: RingWriter, from_s: number, to_s: number): void {
    for (const object of this.active()) {
      // An object of an earlier run that has not returned counts as seen now.
      if (object.seen_s === Number.POSITIVE_INFINITY) object.seen_s = to_s
      if (object.slot < 0) continue
      for (let second = to_s - 1; second >= from_s; second--) {
        if (Number.isNaN(ring.get(object.slot, second, 0))) continue
        object.seen_s = second + 1
        break
      }
    }
  }

  /**
   * Marks objects that were not seen for long as gone and frees their slots in the ring. A chunk stays open for at most
   * `open_s`.
   */
  retire(now_s: number, open_s: number): void {
    for (const object of this.active()) {
      if (object.died_s !== undefined || now_s - object.seen_s < OBJECT_GONE_AFTER_S) continue
      object.died_s = object.seen_s
      this.unsaved.add(object)
      if (object.slot < 0) continue
      this.#freeSlots.push(object.slot)
      object.slot = -1
      this.#changes.removed.push(object.id)
    }
    this.#activeSince_s = now_s - open_s
    this.#active = undefined
  }

  /**
   * Prepares for time being set back to `to_s`: objects that have gone since get a slot again, so that their open
   * chunks of up to `open_s` can be rewritten.
   */
  placeAgain(to_s: number, open_s: number): void {
    for (const object of this.objects) {
      if (object.slot < 0 && object.seen_s > to_s - open_s) this.ensure(object.kind, object.name, object.backend, to_s)
    }
  }

  /** Adjusts to time having been set back to `to_s`. */
  stepBack(to_s: number): void {
    for (const object of this.objects) object.seen_s = Math.min(object.seen_s, to_s)
    // Everything after the step was discarded, so even chunks of objects that were long gone may be open again.
    this.#activeSince_s = 0
    this.#active = undefined
  }

  /** Removes the objects that are gone since before `before_s`: no tier has data of them. */
  expire(before_s: number): void {
    const gone = this.objects.filter(({ slot, died_s }) => slot < 0 && died_s !== undefined && died_s < before_s)
    if (gone.length === 0) return
    for (const { id, kind, name, backend } of gone) {
      this.#byKey.delete(objectKey(kind, name, backend))
      this.expired.add(id)
      this.#changes.forgotten.push(id)
    }
    this.objects = this.objects.filter(({ id }) => !this.expired.has(id))
  }

  /** Whether the catalog lacks changes of the registry. */
  get hasUnsaved(): boolean {
    return this.unsaved.size + this.expired.size > 0
  }

  /** Inside a transaction: writes these changes to the catalog. */
  store({ catalog, meta }: Pick<ArchiveDatabases, 'catalog' | 'meta'>): void {
    for (const object of this.unsaved) catalog.putSync(makeKey(0, object.id), encodeObject(object))
    for (const id of this.expired) catalog.removeSync(makeKey(0, id))
    if (this.unsaved.size > 0) meta.putSync(META_NEXT_ID, makeKey(0, this.nextId))
  }

  /** Called after that transaction. */
  saved(): void {
    this.unsaved.clear()
    this.expired.clear()
  }

  /** Returns the changes for readers: added objects, freed objects, new slabs, and removed object numbers. */
  takeChanges(): SlotChanges {
    const changes = this.#changes
    this.#changes = NO_CHANGES()
    return changes
  }

  /** Whether an object was refused since the last call. */
  takeRefused(): boolean {
    const refused = this.#refused
    this.#refused = false
    return refused
  }
}
