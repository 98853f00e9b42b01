import { ARCHIVE_OBJECTS_MAX, OBJECT_GONE_AFTER_S } from '../limits.ts'
import { type ArchiveObject, type ObjectKind, objectKey } from './catalog.ts'
import type { RingWriter } from './ring.ts'

export interface SlotChanges {
  readonly added: ArchiveObject[]
  readonly removed: number[]
  readonly slabs: number[]
}

/** The objects of the archive: their permanent numbers, and their places in the ring while they are alive. */
export class ObjectRegistry {
  /** In order of their numbers, so that what is written per object is appended in order. */
  readonly objects: ArchiveObject[]
  /** Entries of the catalog to store with the next commit. */
  readonly unsaved = new Set<ArchiveObject>()
  nextId: number
  readonly #ring: RingWriter
  readonly #byKey: Map<string, ArchiveObject>
  #slots = 0
  readonly #freeSlots: number[] = []
  #changes: SlotChanges = { added: [], removed: [], slabs: [] }
  #refused = false

  constructor(objects: ArchiveObject[], nextId: number, ring: RingWriter) {
    this.objects = objects
    this.nextId = nextId
    this.#ring = ring
    this.#byKey = new Map(objects.map((object) => [objectKey(object.kind, object.name, object.backend), object]))
  }

  /** Places of the ring that are or were in use. */
  get slots(): number {
    return this.#slots
  }

  /** The object of this name with a place in the ring, made if need be. `undefined` beyond the cap. */
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
    object.slot = this.#freeSlots.pop() ?? this.#slots++
    const made = this.#ring.own(object.slot, object.id)
    if (made !== undefined) this.#changes.slabs.push(made)
    this.#changes.added.push(object)
  }

  /** Notes which objects have a sample in [from, to). */
  noteSeen(from_s: number, to_s: number): void {
    for (const object of this.objects) {
      // An object of an earlier run that has not come back counts from now on.
      if (object.seen_s === Number.POSITIVE_INFINITY) object.seen_s = to_s
      if (object.slot < 0) continue
      for (let second = to_s - 1; second >= from_s; second--) {
        if (Number.isNaN(this.#ring.get(object.slot, second, 0))) continue
        object.seen_s = second + 1
        break
      }
    }
  }

  /** Marks objects that were not seen for long as gone and frees their place in the ring. */
  retire(now_s: number): void {
    for (const object of this.objects) {
      if (object.died_s !== undefined || now_s - object.seen_s < OBJECT_GONE_AFTER_S) continue
      object.died_s = object.seen_s
      this.unsaved.add(object)
      if (object.slot < 0) continue
      this.#freeSlots.push(object.slot)
      object.slot = -1
      this.#changes.removed.push(object.id)
    }
  }

  /** What readers must be told: new places, places given up, new slabs. */
  takeChanges(): SlotChanges {
    const changes = this.#changes
    this.#changes = { added: [], removed: [], slabs: [] }
    return changes
  }

  /** Whether an object was refused since the last call. */
  takeRefused(): boolean {
    const refused = this.#refused
    this.#refused = false
    return refused
  }
}
