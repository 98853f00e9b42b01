import { ARCHIVE_TIERS_MAX, RING_ROWS, RING_SLAB_OBJECTS } from '../limits.ts'
import { METRIC_COUNT } from './tiers.ts'

/**
 * The last seconds in shared memory: written by the archive thread, read by any thread without a message. One row per
 * second, in it one column per metric, in it one place per object. A reader copies what it wants and then looks whether
 * the writer has come near its oldest row meanwhile; if so, the copy is thrown away. A place holds the value plus one,
 * and zero for unknown: new memory is unknown by itself and not touched before it is used.
 */
const HWM = 0
/** Seconds before this one are on disk: the same as HWM but while the disk refuses. */
const STORED = 3
/** The second being written; rows older than this minus RING_ROWS are gone. */
const WRITING = 1
/** The oldest second the ring knows about: later than the arithmetic says after a start or a long gap. */
const OLDEST = 2
/** From here on, one word per tier: the second before which it is incomplete. */
const FLOORS = 4
const HEADER_WORDS = FLOORS + ARCHIVE_TIERS_MAX
const UNKNOWN = 0

const ROW_VALUES = METRIC_COUNT * RING_SLAB_OBJECTS
const SLAB_VALUES = RING_ROWS * ROW_VALUES
/** Behind the values stand the numbers of the objects that own the places, so that a place given away is noticed. */
const SLAB_BYTES = SLAB_VALUES * 8 + RING_SLAB_OBJECTS * 4

interface Slab {
  readonly buffer: SharedArrayBuffer
  readonly values: Float64Array
  readonly owners: Uint32Array
}

function viewSlab(buffer: SharedArrayBuffer): Slab {
  return {
    buffer,
    values: new Float64Array(buffer, 0, SLAB_VALUES),
    owners: new Uint32Array(buffer, SLAB_VALUES * 8, RING_SLAB_OBJECTS),
  }
}

function rowStart(second: number): number {
  return (second % RING_ROWS) * ROW_VALUES
}

/** What the tier reader needs of either side of the ring. */
export interface RingView {
  /** Seconds before this one are complete: committed, or kept in memory alone while the disk refuses. */
  hwm(): number
  /** The oldest second that can be read. */
  oldest(): number
  /**
   * Copies [from, to) of one object, column-major: metric `m` goes to `out[at + m * stride]` and on. Answers false when
   * the rows were overwritten meanwhile or the place belongs to another object by now.
   */
  copy(
    slot: number,
    objectId: number,
    from_s: number,
    to_s: number,
    out: Float64Array,
    at: number,
    stride: number,
  ): boolean
}

function copyRows(
  slab: Slab,
  place: number,
  from_s: number,
  to_s: number,
  out: Float64Array,
  at: number,
  stride: number,
) {
  for (let second = from_s; second < to_s; second++) {
    const row = rowStart(second) + place
    for (let metric = 0; metric < METRIC_COUNT; metric++) {
      const held = slab.values[row + metric * RING_SLAB_OBJECTS] ?? UNKNOWN
      out[at + metric * stride + (second - from_s)] = held === UNKNOWN ? Number.NaN : held - 1
    }
  }
}

export class RingWriter implements RingView {
  readonly header = new SharedArrayBuffer(HEADER_WORDS * 4)
  readonly slabs: SharedArrayBuffer[] = []
  readonly #words = new Uint32Array(this.header)
  readonly #views: Slab[] = []

  /** Starts anew: nothing before `oldest_s` is known. */
  reset(oldest_s: number): void {
    Atomics.store(this.#words, WRITING, oldest_s)
    Atomics.store(this.#words, OLDEST, oldest_s)
  }

  /** How often seconds that were answered for were lost. */
  losses = 0

  /** What was before `oldest_s` is not known any more. */
  forgetBefore(oldest_s: number): void {
    this.losses++
    Atomics.store(this.#words, OLDEST, oldest_s)
  }

  hwm(): number {
    return this.#words[HWM] ?? 0
  }

  /** The second up to which rows are written; they are served only once published. */
  written(): number {
    return this.#words[WRITING] ?? 0
  }

  oldest(): number {
    return Math.max(this.#words[OLDEST] ?? 0, this.written() - RING_ROWS)
  }

  /** Gives a place to an object, growing by a slab when needed. Answers the new slab's index, if one was made. */
  own(slot: number, objectId: number): number | undefined {
    const index = Math.floor(slot / RING_SLAB_OBJECTS)
    let made: number | undefined
    let slab = this.#views[index]
    if (slab === undefined) {
      slab = viewSlab(new SharedArrayBuffer(SLAB_BYTES))
      this.slabs[index] = slab.buffer
      this.#views[index] = slab
      made = index
    }
    const place = slot % RING_SLAB_OBJECTS
    if (slab.owners[place] !== 0) {
      for (let at = place; at < SLAB_VALUES; at += RING_SLAB_OBJECTS) slab.values[at] = UNKNOWN
    }
    Atomics.store(slab.owners, place, objectId)
    return made
  }

  /** Opens the row of the next second: every object unknown. */
  beginSecond(second: number): void {
    Atomics.store(this.#words, WRITING, second + 1)
    const row = rowStart(second)
    for (const slab of this.#views) slab.values.fill(UNKNOWN, row, row + ROW_VALUES)
  }

  set(slot: number, second: number, metric: number, value: number): void {
    const slab = this.#views[Math.floor(slot / RING_SLAB_OBJECTS)]
    if (slab === undefined) return
    slab.values[rowStart(second) + metric * RING_SLAB_OBJECTS + (slot % RING_SLAB_OBJECTS)] =
      value === value ? value + 1 : UNKNOWN
  }

  get(slot: number, second: number, metric: number): number {
    const slab = this.#views[Math.floor(slot / RING_SLAB_OBJECTS)]
    const held = slab?.values[rowStart(second) + metric * RING_SLAB_OBJECTS + (slot % RING_SLAB_OBJECTS)] ?? UNKNOWN
    return held === UNKNOWN ? Number.NaN : held - 1
  }

  /** Lets readers have the seconds before `hwm_s`, of which those before `stored_s` are on disk. */
  publish(hwm_s: number, stored_s: number): void {
    Atomics.store(this.#words, STORED, stored_s)
    Atomics.store(this.#words, HWM, hwm_s)
  }

  publishFloor(tier: number, floor_s: number): void {
    Atomics.store(this.#words, FLOORS + tier, floor_s)
  }

  /** The writer also reads rows that are written and not yet published; there is no race with itself. */
  copy(
    slot: number,
    _objectId: number,
    from_s: number,
    to_s: number,
    out: Float64Array,
    at: number,
    stride: number,
  ): boolean {
    const slab = this.#views[Math.floor(slot / RING_SLAB_OBJECTS)]
    if (slab === undefined) return false
    const end = Math.min(to_s, this.written())
    copyRows(slab, slot % RING_SLAB_OBJECTS, from_s, Math.max(from_s, end), out, at, stride)
    return true
  }
}

export class RingReader implements RingView {
  readonly #words: Uint32Array
  readonly #slabs: Slab[]

  constructor(header: SharedArrayBuffer, slabs: readonly SharedArrayBuffer[]) {
    this.#words = new Uint32Array(header)
    this.#slabs = slabs.map(viewSlab)
  }

  addSlab(index: number, buffer: SharedArrayBuffer): void {
    this.#slabs[index] = viewSlab(buffer)
  }

  hwm(): number {
    return Atomics.load(this.#words, HWM)
  }

  /** Seconds before this one are on disk. */
  stored(): number {
    return Atomics.load(this.#words, STORED)
  }

  floor(tier: number): number {
    return Atomics.load(this.#words, FLOORS + tier)
  }

  oldest(): number {
    return Math.max(Atomics.load(this.#words, OLDEST), Atomics.load(this.#words, WRITING) - RING_ROWS)
  }

  copy(
    slot: number,
    objectId: number,
    from_s: number,
    to_s: number,
    out: Float64Array,
    at: number,
    stride: number,
  ): boolean {
    const slab = this.#slabs[Math.floor(slot / RING_SLAB_OBJECTS)]
    if (slab === undefined) return false
    const place = slot % RING_SLAB_OBJECTS
    if (Atomics.load(slab.owners, place) !== objectId) return false
    copyRows(slab, place, from_s, to_s, out, at, stride)
    return this.oldest() <= from_s && Atomics.load(slab.owners, place) === objectId
  }
}
