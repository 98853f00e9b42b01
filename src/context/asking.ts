import type { Touched } from '../model/sections.ts'
import type { Actor } from './actor.ts'

/** The author of a request, and where it comes from. */
export interface Asking {
  readonly actor: Actor
  /** The address is read only where it is needed: finding it out costs more than the rest of a small answer. */
  readonly client: { readonly address: string }
  /**
   * Whether a role of the caller grants the endpoint with this name: for every record, or for what is touched. Without
   * that, a right that is confined to some records is none.
   */
  may(endpoint: string, touched?: Touched): boolean
}
