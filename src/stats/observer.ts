import type { ObjectKind } from '../../storage/archive/catalog.ts'

/** An object of which the archive has data. */
export interface SeenObject {
  readonly objectId: number
  readonly kind: ObjectKind
  readonly name: string
  /** The backend that holds a server; else empty. */
  readonly backend: string
}

/**
 * Receives the objects that the archive finds in HAProxy's answers, where the names come from there and not from a
 * configuration.
 */
export interface ArchiveObserver {
  /** Objects that the archive has kept from earlier or has just met. */
  know(objects: Iterable<SeenObject>): void
  /** Called for objects of which no data is kept any more. */
  forget(objectIds: Iterable<number>): void
  /** Called when the objects of HAProxy's latest answer change; they are in its order. */
  list(objectIds: Iterable<number>): void
}
