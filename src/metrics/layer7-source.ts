import { pace } from '../base/turns.ts'
import { labelText } from '../exposition/exposition.ts'
import { type Labels, labelsOf } from '../exposition/labels.ts'
import { LAYER_7 } from '../exposition/layer7-families.ts'
import type { Layer7Input } from '../exposition/layer7-input.ts'
import { type ByKind, byKind, type ObjectKind, STATES } from '../exposition/object-kinds.ts'
import { sharedMemory } from '../exposition/shared-memory.ts'
import { rowKey } from '../stats/live-plan.ts'
import type { LiveAnswers } from '../stats/live.ts'
import type { ObjectNames } from '../stats/names.ts'

export interface Layer7Parts {
  readonly live: Pick<LiveAnswers, 'bytes' | 'hold'>
  readonly names: ObjectNames
}

/** The objects of one kind, with their labels and their names in HAProxy's answer. */
interface Objects {
  readonly ids: readonly string[]
  readonly keys: readonly string[]
  readonly labels: Labels
}
type Known = ByKind<Objects>

/** Objects that are examined, and bytes that are copied, before other work may take a turn. */
const OBJECTS_AT_ONCE = 512
const BYTES_AT_ONCE = 512 * 1_024

/** Prepares the input for samples of Layer 7, for this thread or another one. */
export class Layer7Source {
  readonly #parts: Layer7Parts
  #known: { readonly version: number; readonly objects: Known } | undefined
  /** Row numbers of the objects, valid while neither rows nor names change. */
  #places: { readonly layout: number; readonly of: Known; readonly rowOf: ByKind<Int32Array> } | undefined
  #copy = sharedMemory(0)

  constructor(parts: Layer7Parts) {
    this.#parts = parts
  }

  /** Number of objects. */
  get count(): number {
    const { frontend, backend, server } = this.#objects()
    return frontend.ids.length + backend.ids.length + server.ids.length
  }

  /**
   * Returns the input from HAProxy's present answer, which the caller holds until it is written. Other work takes turns
   * in between. Undefined while HAProxy does not answer.
   */
  async read({ isShared }: { readonly isShared: boolean }): Promise<Layer7Input | undefined> {
    const { bytes } = this.#parts.live
    if (bytes === undefined) return undefined
    const known = this.#objects()
    const rowOf = this.#rowsOf(known, bytes)
    const { version } = this.#parts.names
    const { columns } = bytes.index
    const kinds = byKind((kind) => ({ labels: known[kind].labels, rowOf: rowOf[kind] }))
    const states = await this.#statesOf(known.server)
    const csv = isShared ? await this.#shared(bytes.csv) : bytes.csv
    return { csv, rows: bytes.rows, columns, version, kinds, states }
  }

  async #statesOf({ ids }: Objects): Promise<Uint8Array> {
    const states = new Uint8Array(ids.length)
    const { names } = this.#parts
    const pause = pace()
    for (const [object, id] of ids.entries()) {
      const state = names.state?.(id)
      if (state !== undefined) states[object] = STATES[state] + 1
      if (object % OBJECTS_AT_ONCE === 0) await pause()
    }
    return states
  }

  async #shared(csv: Uint8Array): Promise<Uint8Array> {
    if (this.#copy.length < csv.length) this.#copy = sharedMemory(csv.length + (csv.length >> 4))
    const pause = pace()
    for (let at = 0; at < csv.length; at += BYTES_AT_ONCE) {
      this.#copy.set(csv.subarray(at, at + BYTES_AT_ONCE), at)
      await pause()
    }
    return this.#copy.subarray(0, csv.length)
  }

  #objects(): Known {
    const { names } = this.#parts
    const { version } = names
    if (this.#known?.version !== version) this.#known = { version, objects: objectsOf(names) }
    return this.#known.objects
  }

  #rowsOf(of: Known, { index, layout }: NonNullable<LiveAnswers['bytes']>): ByKind<Int32Array> {
    if (this.#places?.layout !== layout || this.#places.of !== of) {
      const rowOf = byKind((kind) => Int32Array.from(of[kind].keys, (key) => index.get(key) ?? -1))
      this.#places = { layout, of, rowOf }
    }
    return this.#places.rowOf
  }
}

function objectsOf(names: ObjectNames): Known {
  const made = byKind(() => ({ ids: [] as string[], keys: [] as string[], labels: [] as string[] }))
  const add = (kind: ObjectKind, id: string, key: string, values: string[]) => {
    const { ids, keys, labels } = made[kind]
    ids.push(id)
    keys.push(key)
    labels.push(labelText(LAYER_7[kind].up, values))
  }
  for (const { id, name, called = id } of names.frontends())
    add('frontend', id, rowKey('frontend', called, ''), [id, name])
  for (const { id, name, called = id, reals } of names.backends()) {
    add('backend', id, rowKey('backend', called, ''), [id, name])
    for (const { ripId, name: real, called: own = ripId } of reals)
      add('server', ripId, rowKey('server', called, own), [id, name, ripId, real])
  }
  return byKind((kind) => ({ ...made[kind], labels: labelsOf(made[kind].labels) }))
}
