import { BASELINE_EVERY_S, TAIL_BLOCK_OBJECTS } from '../limits.ts'
import { removeRange } from '../env.ts'
import { ByteSink, ByteSource } from './bytes.ts'
import type { ArchiveObject } from './catalog.ts'
import type { ArchiveDatabases } from './databases.ts'
import { makeKey } from './layout.ts'
import type { RingWriter } from './ring.ts'
import { blockOf, decodeBlock, encodeBaseline, encodeBlock, placeInBlock } from './tail.ts'
import { COUNTER_COUNT, METRIC_COUNT } from './tiers.ts'

/** The counters of the source as of the poll that is being committed. */
export interface Baseline {
  /** The process that counts. */
  readonly pid: number
  readonly counters: {
    /** NaN when the slot was not in the poll. */
    valueNow(slot: number, counter: number): number
  }
  /** Slots whose stored copy plus the stored increments would not give the counter: they are stored now. */
  readonly changed: {
    has(slot: number): boolean
  }
}

/** The crash tail: one self-contained row per second and block of objects, and the baselines that go with it. */
export class TailWriter {
  readonly #databases: Pick<ArchiveDatabases, 'tail' | 'baseline'>
  readonly #sink = new ByteSink()
  readonly #values = new Float64Array(METRIC_COUNT * TAIL_BLOCK_OBJECTS)

  constructor(databases: Pick<ArchiveDatabases, 'tail' | 'baseline'>) {
    this.#databases = databases
  }

  storeSecond(ring: RingWriter, second: number, objects: readonly ArchiveObject[]): void {
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
      this.#databases.tail.putSync(makeKey(second, block), this.#sink.take(), { append: true })
    }
  }

  /** Fills the rows [from, to) of a ring from the stored tail. */
  restore(ring: RingWriter, from_s: number, to_s: number, objects: readonly ArchiveObject[]): void {
    for (let second = from_s; second < to_s; second++) {
      ring.beginSecond(second)
      this.#restoreSecond(ring, second, objects)
    }
  }

  #restoreSecond(ring: RingWriter, second: number, objects: readonly ArchiveObject[]): void {
    let block = -1
    let found = false
    for (const object of objects) {
      if (blockOf(object.id) !== block) {
        block = blockOf(object.id)
        const bytes = this.#databases.tail.getFast(makeKey(second, block))
        found = bytes !== undefined
        if (bytes !== undefined) decodeBlock(new ByteSource(bytes), this.#values, METRIC_COUNT)
      }
      if (!found || object.slot < 0) continue
      const place = placeInBlock(object.id)
      for (let metric = 0; metric < METRIC_COUNT; metric++) {
        ring.set(object.slot, second, metric, this.#values[metric * TAIL_BLOCK_OBJECTS + place] ?? Number.NaN)
      }
    }
  }

  /** Stores the baselines of the blocks whose turn it is, and of those that changed in a way increments do not tell. */
  storeBaseline(second: number, objects: readonly ArchiveObject[], baseline: Baseline): void {
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
      if (due) {
        this.#databases.baseline.putSync(makeKey(0, block), encodeBaseline(this.#sink, { second, pid }, values))
      }
    }
  }

  trim(before_s: number): void {
    if (before_s <= 0) return
    removeRange(this.#databases.tail, { end: makeKey(before_s, 0) })
  }
}
