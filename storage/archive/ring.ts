import { ARCHIVE_TIERS_MAX, RING_ROWS, RING_SLAB_OBJECTS } from '../limits.ts'
import { CORE_COUNT, METRIC_COUNT } from './tiers.ts'

/**
 * The last seconds in shared memory: written by the archive thread, read by any thread without a message. One row per
 * second, with one column per metric and one place per object. A reader copies what it needs, then checks whether the
 * writer has come near its oldest row; if so, it discards the copy. A place holds the value plus one, and zero for
 * unknown, so new memory is unknown and stays untouched until it is used. The core metrics count bytes and have 64
 * bits; the others, requests and milliseconds, have 32 in a separate area, which stays untouched while no object has
 * any.
 */
const HWM = 0
/** Seconds before this one are on disk: the same as HWM, unless the disk refuses writes. */
const STORED = 3
/** The second being written; rows older than this minus RING_ROWS are gone. */
const WRITING = 1
/** The oldest second the ring knows: after a start or a long gap, later than WRITING - RING_ROWS. */
const OLDEST = 2
/** From here on, one word per tier: the second before which it is incomplete. */
const FLOORS = 4
const HEADER_WORDS = FLOORS + ARCHIVE_TIERS_MAX
const UNKNOWN = 0

/** Distance between the values of one metric in consecutive rows. */
const CORE_ROW = CORE_COUNT * RING_SLAB_OBJECTS
const MORE_ROW = (METRIC_COUNT - CORE_COUNT) * RING_SLAB_OBJECTS
const CORE_BYTES = RING_ROWS * CORE_ROW * 8
const MORE_BYTES = RING_ROWS * MORE_ROW * 4
/**
 * The values are followed by the numbers of the objects that own the places, so that readers notice a reassigned place.
 */
const SLAB_BYTES = CORE_BYTES + MORE_BYTES + RING_SLAB_OBJECTS * 4
/** The largest value that fits into 32 bits beside unknown. */
const MORE_MAX = 0xffff_fffe

interface Slab {
  readonly buffer: SharedArrayBuffer
  readonly core: Float64Array
  readonly more: Uint32Array
  readonly owners: Uint32Array
  /** Whether the writer has set any of `more`. */
  hasMore: boolean
}

function viewSlab(buffer: SharedArrayBuffer): Slab {
  return {
    buffer,
    core: new Float64Array(buffer, 0, RING_ROWS * CORE_ROW),
    more: new Uint32Array(buffer, CORE_BYTES, RING_ROWS * MORE_ROW),
    owners: new Uint32Array(buffer, CORE_BYTES + MORE_BYTES, RING_SLAB_OBJECTS),
    hasMore: false,
  }
}

/** The interface of the ring to the tier reader, for writer and readers. */
export interface RingView {
  /** Seconds before this one are final: committed, or only in memory while the disk refuses writes. */
  hwm(): number
  /** The oldest second that can be read. */
  oldest(): number
  /**
   * Copies [from, to) of the first `columns` metrics of one object, column-major: metric `m` starts at
   * `out[at + m * stride]`. Returns false when the rows were overwritten meanwhile, or the place belongs to another
   * object by now.
   */
  copy(
    slot: number,
    objectId: number,
    from_s: number,
    to_s: number,
    out: Float64Array,
    at: number,
    stride: number,
    columns: number,
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
  columns: number,
) {
  const { core, more } = slab
  for (let second = from_s; second < to_s; second++) {
    const row = second % RING_ROWS
    const to = at + (second - from_s)
    const inCore = row * CORE_ROW + place
    for (let metric = 0; metric < CORE_COUNT; metric++) {
      const held = core[inCore + metric * RING_SLAB_OBJECTS] ?? UNKNOWN
      out[to + metric * stride] = held === UNKNOWN ? Number.NaN : held - 1
    }
    const inMore = row * MORE_ROW + place
    for (let metric = CORE_COUNT; metric < columns; metric++) {
      const held = more[inMore + (metric - CORE_COUNT) * RING_SLAB_OBJECTS] ?? UNKNOWN
      out[to + metric * stride] = held === UNKNOWN ? Number.NaN : held - 1
    }
  }
}

export class RingWriter implements RingView {
  readonly header = new SharedArrayBuffer(HEADER_WORDS * 4)
  readonly slabs: SharedArrayBuffer[] = []
  readonly #words = new Uint32Array(this.header)
  readonly #views: Slab[] = []

  /** Empties the ring: nothing before `oldest_s` is known. */
  reset(oldest_s: number): void {
    Atomics.store(this.#words, WRITING, oldest_s)
    Atomics.store(this.#words, OLDEST, oldest_s)
  }

  /** How many times final seconds were lost. */
  losses = 0

  /** Forgets the seconds before `oldest_s`. */
  forgetBefore(oldest_s: number): void {
    this.losses++
    Atomics.store(this.#words, OLDEST, oldest_s)
  }

  hwm(): number {
    return this.#words[HWM] ?? 0
  }

  /** Rows before this second are written; they are served only once published. */
  written(): number {
    return this.#words[WRITING] ?? 0
  }

  oldest(): number {
    return Math.max(this.#words[OLDEST] ?? 0, this.written() - RING_ROWS)
  }

  /** Assigns a place to an object, adding a slab when needed. Returns the index of a new slab. */
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
      for (let at = place; at < slab.core.length; at += RING_SLAB_OBJECTS) slab.core[at] = UNKNOWN
      if (slab.hasMore) for (let at = place; at < slab.more.length; at += RING_SLAB_OBJECTS) slab.more[at] = UNKNOWN
    }
    Atomics.store(slab.owners, place, objectId)
    return made
  }

  /** Opens the row of the next second, with every object unknown. */
  beginSecond(second: number): void {
    Atomics.store(this.#words, WRITING, second + 1)
    const row = second % RING_ROWS
    for (const { core, more, hasMore } of this.#views) {
      core.fill(UNKNOWN, row * CORE_ROW, (row + 1) * CORE_ROW)
      if (hasMore) more.fill(UNKNOWN, row * MORE_ROW, (row + 1) * MORE_ROW)
    }
  }

  set(slot: number, second: number, metric: number, value: number): void {
    const slab = this.#views[Math.floor(slot / RING_SLAB_OBJECTS)]
    if (slab === undefined) return
    const row = second % RING_ROWS
    const place = slot % RING_SLAB_OBJECTS
    if (metric < CORE_COUNT) {
      slab.core[row * CORE_ROW + metric * RING_SLAB_OBJECTS + place] = value === value ? value + 1 : UNKNOWN
      return
    }
    const held = value <= MORE_MAX ? value + 1 : UNKNOWN
    if (held === UNKNOWN && !slab.hasMore) return
    slab.hasMore = true
    slab.more[row * MORE_ROW + (metric - CORE_COUNT) * RING_SLAB_OBJECTS + place] = held
  }

  get(slot: number, second: number, metric: number): number {
    const slab = this.#views[Math.floor(slot / RING_SLAB_OBJECTS)]
    if (slab === undefined) return Number.NaN
    const row = second % RING_ROWS
    const place = slot % RING_SLAB_OBJECTS
    const held =
      (metric < CORE_COUNT
        ? slab.core[row * CORE_ROW + metric * RING_SLAB_OBJECTS + place]
        : slab.more[row * MORE_ROW + (metric - CORE_COUNT) * RING_SLAB_OBJECTS + place]) ?? UNKNOWN
    return held === UNKNOWN ? Number.NaN : held - 1
  }

  /** Publishes the seconds before `hwm_s` to readers; those before `stored_s` are on disk. */
  publish(hwm_s: number, stored_s: number): void {
    Atomics.store(this.#words, STORED, stored_s)
    Atomics.store(this.#words, HWM, hwm_s)
  }

  publishFloor(tier: number, floor_s: number): void {
    Atomics.store(this.#words, FLOORS + tier, floor_s)
  }

  /** The writer also reads rows that are not published yet; it cannot race with itself. */
  copy(
    slot: number,
    _objectId: number,
    from_s: number,
    to_s: number,
    out: Float64Array,
    at: number,
    stride: number,
    columns: number,
  ): boolean {
    const slab = this.#views[Math.floor(slot / RING_SLAB_OBJECTS)]
    if (slab === undefined) return false
    const end = Math.min(to_s, this.written())
    copyRows(slab, slot % RING_SLAB_OBJECTS, from_s, Math.max(from_s, end), out, at, stride, columns)
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
    columns: number,
  ): boolean {
    const slab = this.#slabs[Math.floor(slot / RING_SLAB_OBJECTS)]
    if (slab === undefined) return false
    const place = slot % RING_SLAB_OBJECTS
    if (Atomics.load(slab.owners, place) !== objectId) return false
    copyRows(slab, place, from_s, to_s, out, at, stride, columns)
    return this.oldest() <= from_s && Atomics.load(slab.owners, place) === objectId
  }
}
