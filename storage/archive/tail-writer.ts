import { BASELINE_EVERY_S, RING_ROWS, TAIL_BLOCK_OBJECTS } from '../limits.ts'
import { ByteSink, ByteSource } from './bytes.ts'
import type { ArchiveObject } from './catalog.ts'
import type { RingWriter } from './ring.ts'
import { blockOf, decodeBlock, encodeBaseline, encodeBlock, placeInBlock } from './tail.ts'
import { RecordSink, type TailFile, type TailRecord } from './tail-file.ts'
import { COUNTER_COUNT, METRIC_COUNT } from './tiers.ts'

/** The counters of the source at the poll that is being committed. */
export interface Baseline {
  /** The pid of the counting process. */
  readonly pid: number
  readonly counters: {
    /** NaN when the slot was not in the poll. */
    valueNow(slot: number, counter: number): number
  }
  /** Slots whose counter does not equal the stored copy plus the stored increments: they are stored now. */
  readonly changed: {
    has(slot: number): boolean
  }
}

/** The contents of a commit: the rows [from, to) of the ring, and counters with the last of them. */
export interface Seconds {
  readonly from_s: number
  readonly to_s: number
  /** Seconds from this one on have no row. */
  readonly rowsTo_s: number
  readonly sampled_s: number
  readonly baseline?: Baseline | undefined
}

/** Writes records of the crash tail: self-contained rows per second and block of objects, and counters with them. */
export class TailWriter {
  readonly #record = new RecordSink()
  readonly #sink = new ByteSink()
  readonly #values = new Float64Array(METRIC_COUNT * TAIL_BLOCK_OBJECTS)

  /** Appends one durable record. Records before `needless_s` are no longer needed. */
  append(
    file: TailFile,
    ring: RingWriter,
    objects: readonly ArchiveObject[],
    seconds: Seconds,
    needless_s: number,
  ): void {
    const { from_s, to_s, rowsTo_s, sampled_s, baseline } = seconds
    this.#record.begin(to_s)
    for (let second = from_s; second < rowsTo_s; second++) this.#addSecond(ring, second, objects)
    if (baseline !== undefined) this.#addBaseline(to_s, objects, baseline)
    file.append(this.#record, sampled_s, to_s, needless_s)
  }

  #addSecond(ring: RingWriter, second: number, objects: readonly ArchiveObject[]): void {
    let at = 0
    while (at < objects.length) {
      const block = blockOf(objects[at]?.id ?? 0)
      this.#values.fill(Number.NaN)
      let known = false
      for (; at < objects.length; at++) {
        const object = objects[at]
        if (object === undefined || blockOf(object.id) !== block) break
        if (object.slot < 0) continue
        const place = placeInBlock(object.id)
        for (let metric = 0; metric < METRIC_COUNT; metric++) {
          const value = ring.get(object.slot, second, metric)
          if (value !== value) continue
          known = true
          this.#values[metric * TAIL_BLOCK_OBJECTS + place] = value
        }
      }
      if (!known) continue
      this.#sink.length = 0
      encodeBlock(this.#sink, this.#values, METRIC_COUNT)
      this.#record.add('row', second, block, this.#sink.bytes.subarray(0, this.#sink.length))
    }
  }

  /** Adds the counters of the blocks that are due, and of those with changes that increments do not show. */
  #addBaseline(second: number, objects: readonly ArchiveObject[], baseline: Baseline): void {
    const { pid, counters, changed } = baseline
    let at = 0
    while (at < objects.length) {
      const block = blockOf(objects[at]?.id ?? 0)
      const values = new Float64Array(COUNTER_COUNT * TAIL_BLOCK_OBJECTS).fill(Number.NaN)
      let due = (second + block) % BASELINE_EVERY_S === 0
      for (; at < objects.length; at++) {
        const object = objects[at]
        if (object === undefined || blockOf(object.id) !== block) break
        if (object.slot < 0) continue
        due ||= changed.has(object.slot)
        for (let counter = 0; counter < COUNTER_COUNT; counter++) {
          values[counter * TAIL_BLOCK_OBJECTS + placeInBlock(object.id)] = counters.valueNow(object.slot, counter)
        }
      }
      if (due) this.#record.add('baseline', second, block, encodeBaseline(this.#sink, { second, pid }, values))
    }
  }
}

/** Fills the rows [from, to) of a ring from the crash tail; if there are more than the ring holds, only the latest. */
export function restoreRows(
  records: readonly TailRecord[],
  ring: RingWriter,
  from_s: number,
  to_s: number,
  objects: readonly ArchiveObject[],
): void {
  const byBlock = groupByBlock(objects.filter(({ slot }) => slot >= 0))
  const values = new Float64Array(METRIC_COUNT * TAIL_BLOCK_OBJECTS)
  const first_s = Math.max(from_s, to_s - RING_ROWS)
  for (let second = first_s; second < to_s; second++) ring.beginSecond(second)
  for (const record of records) {
    if (record.to_s <= first_s) continue
    for (const { kind, second, block, bytes } of record.parts()) {
      const members = byBlock.get(block)
      if (kind !== 'row' || second < first_s || second >= to_s || members === undefined) continue
      decodeBlock(new ByteSource(bytes), values, METRIC_COUNT)
      for (const object of members) {
        const place = placeInBlock(object.id)
        for (let metric = 0; metric < METRIC_COUNT; metric++)
          ring.set(object.slot, second, metric, values[metric * TAIL_BLOCK_OBJECTS + place] ?? Number.NaN)
      }
    }
  }
}

export function groupByBlock(objects: readonly ArchiveObject[]): ReadonlyMap<number, readonly ArchiveObject[]> {
  const groups = new Map<number, ArchiveObject[]>()
  for (const object of objects) {
    const group = groups.get(blockOf(object.id))
    if (group === undefined) groups.set(blockOf(object.id), [object])
    else group.push(object)
  }
  return groups
}
