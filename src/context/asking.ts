import type { Touched } from '../model/sections.ts'
import type { Actor } from './actor.ts'

/** The author of a request, and its origin. */
export interface Asking {
  readonly actor: Actor
  /** The address is read only where it is needed: looking it up costs more than the rest of a small answer. */
  readonly client: { readonly address: string }
  /**
   * Returns whether a role of the caller grants the named endpoint for all records or, with `touched`, for that one.
   * Without `touched`, a right that is confined to some records does not count.
   */
  may(endpoint: string, touched?: Touched): boolean
}
