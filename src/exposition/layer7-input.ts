import type { Labels } from './labels.ts'
import type { ByKind } from './object-kinds.ts'

/** What samples of Layer 7 are written of: plain values, so that another thread can write them. */
export interface Layer7Input {
  /** HAProxy's answer, and where its rows begin: that of the names, and then one after the other. */
  readonly csv: Uint8Array
  readonly rows: Uint32Array
  /** Which place in a row the column of a name has. */
  readonly columns: ReadonlyMap<string, number>
  /** Another number, other objects or names. */
  readonly version: number
  readonly kinds: ByKind<ObjectsInput>
  /** What was chosen for each server: its number in STATES and 1; 0 where nobody chooses here. */
  readonly states: Uint8Array
}

export interface ObjectsInput {
  readonly labels: Labels
  /** Number of the row of each object; negative where it has none. */
  readonly rowOf: Int32Array
}
