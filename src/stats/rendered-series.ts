import type { ReadableObject } from '../../storage/archive/tier-reader.ts'
import { CORE_COUNT, METRIC_COUNT } from '../../storage/archive/tiers.ts'
import { ARCHIVE_TIERS_MAX } from '../../storage/limits.ts'
import { CONSOLIDATIONS, type Consolidation } from '../model/metrics.ts'
import { JsonBuffer } from '../base/json-buffer.ts'
import { type Columns, Series, type SeriesWindow, type WindowReader } from './series.ts'

/**
 * Buckets of one block: two minutes of the finest tier. Longer blocks copy no faster and make the first read of a short
 * window more expensive.
 */
export const BLOCK_BUCKETS = 120
/** About 500 objects with an hour at 1 s each. Only requested series count towards it. */
export const RENDERED_BYTES = 64 * 1_024 * 1_024
/** Number of blocks above which those behind the retention are dropped: more than the longest tier has. */
const TRACK_BLOCKS_MAX = 176

/** Metrics that are rendered together, from `first` up to `end`; `columns` are read for them. */
export interface MetricGroup {
  readonly first: number
  readonly end: number
  readonly columns: Columns
}

/** Requests for the core metrics do not pay for the others. */
export const METRIC_GROUPS = [
  { first: 0, end: CORE_COUNT, columns: CORE_COUNT },
  { first: CORE_COUNT, end: METRIC_COUNT, columns: METRIC_COUNT },
] as const satisfies readonly MetricGroup[]

/** The keys of one object never overlap those of the next. */
const KEYS_PER_OBJECT = ARCHIVE_TIERS_MAX * CONSOLIDATIONS.length * METRIC_GROUPS.length
const MARKS = BLOCK_BUCKETS + 1
/** Size of a block without its text and its marks. */
const BLOCK_OVERHEAD_BYTES = 300

/**
 * The text of up to 120 buckets of every metric of a group, each value followed by a comma. The value `i` of metric `m`
 * of the group stands in `texts[m]` from `marks[m * MARKS + i]` to the next mark.
 */
interface Block {
  /** Number of rendered buckets, from the first of the block. */
  n: number
  readonly texts: Buffer[]
  readonly marks: Uint16Array
  bytes: number
}

/** One object in one tier and consolidation, and the metrics of one group. */
export interface RenderedTrack {
  readonly key: number
  readonly group: MetricGroup
  readonly blocks: Map<number, Block>
  bytes: number
  /** Whether the track is still counted and found. A reader that holds a dropped track continues with it. */
  isKept: boolean
}

/**
 * Closed buckets as JSON, rendered once. They never change, so a window that moves on costs copies of its blocks and
 * the rendering of its new seconds. Bounded by bytes; the least recently requested series is dropped first.
 */
export class RenderedSeries {
  readonly #limit_bytes: number
  readonly #tracks = new Map<number, RenderedTrack>()
  #bytes = 0
  /** Count of the rendered numbers: the cost of answers besides copies. */
  #rendered = 0
  readonly #series = new Series()
  readonly #out = new JsonBuffer()

  constructor(limit_bytes = RENDERED_BYTES) {
    this.#limit_bytes = limit_bytes
  }

  get size_bytes(): number {
    return this.#bytes
  }

  get rendered(): number {
    return this.#rendered
  }

  clear(): void {
    for (const track of this.#tracks.values()) this.#drop(track)
  }

  /** Returns the series of this object, for `load` and `write`. */
  track(
    object: ReadableObject | undefined,
    tier: number,
    consolidation: Consolidation,
    group: MetricGroup,
  ): RenderedTrack {
    if (object === undefined) return unknownTrack(group)
    // A second has one value: in the finest tier all consolidations are equal but the sum, where one value may be for
    // two seconds.
    const form = tier === 0 && consolidation !== 'sum' ? 0 : CONSOLIDATIONS.indexOf(consolidation)
    const kind = METRIC_GROUPS.findIndex(({ first }) => first === group.first) * ARCHIVE_TIERS_MAX + tier
    const key = object.id * KEYS_PER_OBJECT + kind * CONSOLIDATIONS.length + form
    let track = this.#tracks.get(key)
    if (track === undefined) track = { key, group, blocks: new Map(), bytes: 0, isKept: true }
    else this.#tracks.delete(key)
    this.#tracks.set(key, track)
    return track
  }

  /**
   * Renders the missing buckets of the window, and all other closed ones in its last block. Every bucket of the window
   * is closed. Returns false when the archive could not be read in one piece: the window can be written, but it is not
   * final.
   */
  load(
    track: RenderedTrack,
    reader: WindowReader,
    object: ReadableObject | undefined,
    window: SeriesWindow,
    consolidation: Consolidation,
    closed_s: number,
  ): boolean {
    if (object === undefined) return true
    const { tier, step_s } = window
    const end = window.end_s / step_s
    const closed = Math.max(end, Math.floor(closed_s / step_s))
    let isFinal = true
    for (let at = window.first_s / step_s; at < end;) {
      const { from, to } = missingRun(track, at, end, closed)
      if (from < to) {
        const part = { tier, step_s, first_s: from * step_s, end_s: to * step_s }
        const isComplete = this.#series.load(reader, part, consolidation, object, track.group.columns)
        this.#render(track, from, to)
        if (!isComplete) this.#drop(track)
        isFinal &&= isComplete
      }
      at = Math.max(to, at)
      if (from >= to) break
    }
    if (track.blocks.size > TRACK_BLOCKS_MAX) this.#trim(track, window)
    this.#bound()
    return isFinal
  }

  /** Writes the loaded buckets [first, end) of one metric of the group, separated by commas. */
  write(track: RenderedTrack, metric: number, window: SeriesWindow, out: JsonBuffer): void {
    const first = window.first_s / window.step_s
    const end = window.end_s / window.step_s
    for (let at = first; at < end;) {
      const index = Math.floor(at / BLOCK_BUCKETS)
      const start = index * BLOCK_BUCKETS
      const to = Math.min(end, start + BLOCK_BUCKETS)
      const block = track.key === UNKNOWN ? UNKNOWN_BLOCK : track.blocks.get(index)
      const text = block?.texts[metric - track.group.first]
      if (block === undefined || text === undefined || block.n < to - start) {
        throw new Error('a window was written that was not loaded')
      }
      const mark = (metric - track.group.first) * MARKS - start
      // The last comma of the window is not copied.
      out.append(text, block.marks[mark + at] ?? 0, (block.marks[mark + to] ?? 0) - (to === end ? 1 : 0))
      at = to
    }
  }

  #render(track: RenderedTrack, first: number, until: number): void {
    for (let at = first; at < until;) {
      const index = Math.floor(at / BLOCK_BUCKETS)
      const to = Math.min(until, (index + 1) * BLOCK_BUCKETS)
      let block = track.blocks.get(index)
      if (block === undefined) track.blocks.set(index, (block = newBlock(track.group)))
      const before = block.bytes
      extend(block, track.group, this.#series, at - first, to - at, this.#out)
      this.#count(track, block.bytes - before)
      at = to
    }
    this.#rendered += (until - first) * (track.group.end - track.group.first)
  }

  #count(track: RenderedTrack, more: number): void {
    track.bytes += more
    if (track.isKept) this.#bytes += more
  }

  /**
   * Drops the oldest blocks, which have left the retention, but keeps the whole window. A long answer that is still
   * being written keeps the old track.
   */
  #trim(track: RenderedTrack, window: SeriesWindow): void {
    const first = Math.floor(window.first_s / window.step_s / BLOCK_BUCKETS)
    const oldest = Math.min(first, Math.max(...track.blocks.keys()) - TRACK_BLOCKS_MAX)
    const blocks = new Map([...track.blocks].filter(([index]) => index >= oldest))
    if (!track.isKept || blocks.size === track.blocks.size) return
    this.#drop(track)
    let kept_bytes = 0
    for (const { bytes } of blocks.values()) kept_bytes += bytes
    this.#tracks.set(track.key, { ...track, blocks, bytes: kept_bytes, isKept: true })
    this.#bytes += kept_bytes
  }

  #bound(): void {
    for (const track of this.#tracks.values()) {
      if (this.#bytes <= this.#limit_bytes || this.#tracks.size === 1) return
      this.#drop(track)
    }
  }

  #drop(track: RenderedTrack): void {
    if (!track.isKept) return
    track.isKept = false
    this.#tracks.delete(track.key)
    this.#bytes -= track.bytes
  }
}

/** Returns the first run of buckets in [at, end) without text; it ends with the closed part of its last block. */
function missingRun(track: RenderedTrack, at: number, end: number, closed: number): { from: number; to: number } {
  let from = end
  for (let index = Math.floor(at / BLOCK_BUCKETS); index * BLOCK_BUCKETS < end; index++) {
    const first = index * BLOCK_BUCKETS
    const n = track.blocks.get(index)?.n ?? 0
    const needed = Math.min(first + BLOCK_BUCKETS, end)
    if (from < end && n > 0) return { from, to: first }
    if (first + n < needed) from = Math.min(from, first + n)
  }
  const whole = Math.ceil(end / BLOCK_BUCKETS) * BLOCK_BUCKETS
  return { from, to: from < end ? Math.min(whole, closed) : from }
}

function newBlock({ first, end }: MetricGroup): Block {
  return { n: 0, texts: [], marks: new Uint16Array(MARKS * (end - first)), bytes: 0 }
}

/**
 * Adds `count` values, starting at place `from` of the series. A full block is kept in one piece; until then each
 * metric has its own.
 */
function extend(block: Block, group: MetricGroup, series: Series, from: number, count: number, out: JsonBuffer): void {
  const { marks, texts, n } = block
  const metrics = group.end - group.first
  const isWhole = n + count === BLOCK_BUCKETS
  out.clear()
  for (let metric = 0; metric < metrics; metric++) {
    const mark = metric * MARKS
    const text = texts[metric]
    if (!isWhole) out.clear()
    const base = out.length
    if (text !== undefined) out.append(text, 0, text.length)
    for (let i = 0; i <= n; i++) marks[mark + i] = base + (marks[mark + i] ?? 0)
    series.writeMarked(group.first + metric, from, count, out, marks, mark + n)
    if (!isWhole) texts[metric] = out.take()
  }
  if (isWhole) {
    const whole = out.take()
    for (let metric = 0; metric < metrics; metric++) texts[metric] = whole
  }
  block.n += count
  const text_bytes = isWhole ? out.length : texts.reduce((sum, text) => sum + text.length, 0)
  block.bytes = BLOCK_OVERHEAD_BYTES + marks.byteLength + text_bytes
}

/** The key of an object that the archive has never seen. */
const UNKNOWN = -1
const unknownTrack = (group: MetricGroup): RenderedTrack => ({
  key: UNKNOWN,
  group,
  blocks: new Map(),
  bytes: 0,
  isKept: false,
})
const UNKNOWN_BLOCK: Block = {
  n: BLOCK_BUCKETS,
  texts: Array.from({ length: METRIC_COUNT }, () => Buffer.from('null,'.repeat(BLOCK_BUCKETS))),
  marks: Uint16Array.from({ length: MARKS * METRIC_COUNT }, (_, i) => (i % MARKS) * 'null,'.length),
  bytes: 0,
}
