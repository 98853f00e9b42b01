import type { Labels } from './labels.ts'
import type { ByKind } from './object-kinds.ts'

/** The input for samples of Layer 7: plain values, so that another thread can write them. */
export interface Layer7Input {
  /** HAProxy's answer, and where its rows begin: first the row of names, then all others in order. */
  readonly csv: Uint8Array
  readonly rows: Uint32Array
  /** The index of each column by its name. */
  readonly columns: ReadonlyMap<string, number>
  /** Changes with the objects or their names. */
  readonly version: number
  readonly kinds: ByKind<ObjectsInput>
  /** For each server, its applied state as a number of STATES plus 1; 0 if states are not applied here. */
  readonly states: Uint8Array
}

export interface ObjectsInput {
  readonly labels: Labels
  /** The row number of each object; negative if it has none. */
  readonly rowOf: Int32Array
}
