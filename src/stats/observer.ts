import type { ObjectKind } from '../../storage/archive/catalog.ts'

/** An object that the archive has something of. */
export interface SeenObject {
  readonly objectId: number
  readonly kind: ObjectKind
  readonly name: string
  /** For a server, the backend that holds it; else empty. */
  readonly backend: string
}

/** Told what the archive finds in HAProxy's answers, where the names come from there and not from a configuration. */
export interface ArchiveObserver {
  /** Objects that the archive has kept from earlier or has just met. */
  know(objects: Iterable<SeenObject>): void
  /** Nothing of these is kept any more. */
  forget(objectIds: Iterable<number>): void
  /** The objects of HAProxy's latest answer, in its order; told when they change. */
  list(objectIds: Iterable<number>): void
}
