import {
  CHUNKS_AT_ONCE,
  CHUNKS_EVERY_S,
  RING_SERVED_S,
  ROOM_BYTES_MIN,
  ROOM_BYTES_PER_OBJECT,
  SECONDS_PER_COMMIT,
} from '../limits.ts'
import { TAIL_KEPT_S } from '../limits.ts'
import { closeEnvironment, usedBytes } from '../env.ts'
import { FileRoom, NoRoomError } from '../room.ts'
import type { ArchiveObject, ObjectKind } from './catalog.ts'
import { type ChunkSource, ChunkWriter } from './chunk-writer.ts'
import { type ArchiveDatabases, chunkLookup, META_PROGRESS, openArchiveDatabases } from './databases.ts'
import { newTailPlace, writeTailPlace } from './databases.ts'
import { type Gap, gapsOfTail, keptFrom, readGaps, withGap, writeGaps } from './gaps.ts'
import { makeKey } from './layout.ts'
import { adoptTiers } from './adopt-tiers.ts'
import { recover } from './recover.ts'
import { ObjectRegistry } from './registry.ts'
import { rewindRing, rowsBetween } from './rewind-ring.ts'
import { RingWriter } from './ring.ts'
import { readTail, removeTail, TailFile, type TailPlace } from './tail-file.ts'
import { type Baseline, restoreRows, TailWriter } from './tail-writer.ts'
import { span_s, type Tier, tierAt, TIERS } from './tiers.ts'
import { TierReader } from './tier-reader.ts'
import { forgetFrom, RELIEF_BYTES, relieve, trimKeys, trimTier } from './trim.ts'

/**
 * The one writer of the archive. The caller fills the ring (`beginSecond`, `set`) and calls `commit`: one record of the
 * crash tail, and from time to time one LMDB transaction with the chunks that have become due since the last.
 */
export class ArchiveWriter {
  readonly ring: RingWriter
  readonly databases: ArchiveDatabases
  readonly #directory: string
  readonly #room: FileRoom
  readonly registry: ObjectRegistry
  #held: string | undefined
  #hwm_s: number
  #sampled_s: number
  /** Chunks that end by this second are stored; the rest is in the crash tail. */
  #stored_s: number
  /** `#stored_s` before the last transaction: after a power cut, LMDB may have lost the last one. */
  #storedBefore_s: number
  /** Oldest second of the ring at the last transaction: without these rows an open chunk would lose final seconds. */
  #needed_s: number
  #gaps: readonly Gap[]
  readonly #reader: TierReader
  readonly #tail = new TailWriter()
  #tailFile: TailFile
  #tailPlace: TailPlace
  readonly #chunks = new ChunkWriter()

  /**
   * Opens or creates the archive and rebuilds the ring from the crash tail. If the tiers have changed, the existing
   * data is carried over first.
   */
  constructor(directory: string, now_s: number, tiers: readonly Tier[] = TIERS) {
    const opened = openArchiveDatabases(directory)
    this.#directory = directory
    this.ring = new RingWriter()
    this.#room = new FileRoom(directory, () => usedBytes(opened.environment))
    const found = recover(opened, now_s, this.#room)
    this.#hwm_s = found.hwm_s
    this.#stored_s = found.stored_s
    this.#storedBefore_s = found.stored_s
    this.#sampled_s = found.sampled_s
    this.#needed_s = found.ringOldest_s
    this.#gaps = gapsOfTail(readGaps(opened.meta), found.tail.records, found.stored_s)
    this.#tailPlace = found.place
    this.#tailFile = new TailFile(directory, found.place, found.tail.next)
    removeTail(directory, 1 - found.place.pair)
    this.registry = new ObjectRegistry(found.objects, found.nextId, this.ring)
    this.ring.reset(found.ringOldest_s)
    for (const object of found.objects) {
      // A dead object gets a slot only when it returns, which also records that it lives.
      if (object.died_s === undefined && found.inTail.has(object.id)) this.registry.place(object)
    }
    restoreRows(found.tail.records, this.ring, found.ringOldest_s, found.hwm_s, this.registry.objects)
    const ring = this.#lacksRows(found.stored_s, opened.table) ? this.#ringFromTail(found.stored_s) : this.ring
    this.databases = adoptTiers(opened, tiers, this.registry.objects, ring, found.stored_s, this.#room)
    this.#reader = this.#readerOf(this.ring)
    this.#publishFloors()
    this.ring.publish(found.hwm_s, found.stored_s)
  }

  /**
   * Keeps commits off the disk until called with `undefined`: they fail with this reason, and everything continues in
   * memory.
   */
  hold(reason: string | undefined): void {
    this.#held = reason
  }

  /** Why room is, or soon will be, exhausted; `undefined` while there is enough. */
  get shortage(): string | undefined {
    return this.#room.refusal
  }

  #publishFloors(): void {
    for (const [index, { floor_s }] of this.databases.table.entries()) this.ring.publishFloor(index, floor_s)
  }

  #readerOf(ring: RingWriter): TierReader {
    return new TierReader(this.databases.table, chunkLookup(this.databases), ring, 'stored')
  }

  /** Seconds before this one are committed. */
  get hwm_s(): number {
    return this.#hwm_s
  }
  /** The second at which the source was last read successfully, by this run or an earlier one. */
  get sampled_s(): number {
    return this.#sampled_s
  }

  objects = (): readonly ArchiveObject[] => this.registry.objects

  /** Returns the object of this name with a slot in the ring, and creates it if needed. `undefined` beyond the cap. */
  ensure(kind: ObjectKind, name: string, backend: string): ArchiveObject | undefined {
    return this.registry.ensure(kind, name, backend, this.#hwm_s)
  }

  /**
   * Stores all seconds before `to_s` that are not stored yet. The ring must hold their rows; seconds without a row are
   * unknown. `sampled`: the source was read at `to_s`. Throws when the disk refuses: the rows stay in the ring, are
   * served from there and are stored by the next commit that succeeds.
   */
  commit(to_s: number, sampled: boolean, baseline: Baseline | undefined): void {
    try {
      this.#keep(to_s, sampled, baseline)
    } catch (error) {
      this.#advance(to_s)
      this.ring.publish(Math.max(this.#hwm_s, this.ring.written()), this.#stored_s)
      throw error
    }
    this.ring.publish(this.#hwm_s, this.#stored_s)
  }

  #keep(to_s: number, sampled: boolean, baseline: Baseline | undefined): void {
    const { ring } = this
    if (ring.oldest() > this.#hwm_s) {
      // The disk refused for so long that these rows are lost. Earlier commits are in the crash tail.
      this.#appendGap(ring.oldest())
      ring.forgetBefore(ring.oldest())
    }
    if (to_s - this.#hwm_s >= RING_SERVED_S && ring.written() <= this.#hwm_s) {
      this.#appendGap(to_s)
      this.#storeAll()
      ring.reset(to_s)
      this.#needed_s = to_s
    }
    while (this.#hwm_s < to_s) {
      const until = Math.min(to_s, this.#hwm_s + SECONDS_PER_COMMIT)
      for (let second = ring.written(); second < until; second++) ring.beginSecond(second)
      this.#append(until, until, until === to_s && sampled, until === to_s ? baseline : undefined)
      if (this.#isTime()) this.#storeAll()
    }
  }

  /** Whether a transaction is due: rare enough to be cheap, and frequent enough to be short. */
  #isTime(): boolean {
    const seconds = this.#hwm_s - this.#stored_s
    return seconds >= CHUNKS_EVERY_S || seconds * this.registry.active().length >= CHUNKS_AT_ONCE
  }

  /** Writes the seconds from the last record to `to_s` as one record; those from `rowsTo_s` on have no rows. */
  #append(to_s: number, rowsTo_s: number, sampled: boolean, baseline?: Baseline): void {
    this.#ensureRoom()
    // If the catalog entry were lost, its number would go to another object, and the row with it.
    if (this.registry.hasUnsaved) this.#saveObjects()
    const sampled_s = sampled ? to_s : this.#sampled_s
    const seconds = { from_s: this.#hwm_s, to_s, rowsTo_s, sampled_s, baseline }
    const objects = this.registry.active()
    this.#tail.append(this.#tailFile, this.ring, objects, seconds, this.#storedBefore_s - TAIL_KEPT_S)
    this.#hwm_s = to_s
    this.#sampled_s = sampled_s
  }

  #saveObjects(): void {
    this.databases.environment.transactionSync(() => this.registry.store(this.databases))
    this.registry.saved()
  }

  get #base(): Tier {
    return tierAt(0, this.databases.table)
  }

  /** Leaves the seconds before `to_s` unknown. If they cannot be stored, the next commit retries and reports it. */
  passOver(to_s: number): void {
    try {
      this.commit(to_s, false, undefined)
    } catch {}
  }

  /** Leaves the seconds up to `to_s` without a row unknown, so that time advances although nothing can be stored. */
  #advance(to_s: number): void {
    const { ring } = this
    if (to_s - ring.written() >= RING_SERVED_S) ring.reset(to_s)
    else for (let second = ring.written(); second < to_s; second++) ring.beginSecond(second)
  }

  /** Whether the ring has already dropped rows that chunks open at this second need. */
  #lacksRows(at_s: number, table = this.databases.table): boolean {
    return this.ring.oldest() > Math.max(this.#needed_s, at_s - span_s(tierAt(0, table)) + 1)
  }

  /** Moves everything that is only in the crash tail to chunks. Rows that the ring has lost are read from the tail. */
  #storeAll(): void {
    while (this.#stored_s < this.#hwm_s) {
      const gap = this.#gaps.find(({ from_s }) => from_s >= this.#stored_s)
      const end_s = gap?.from_s ?? this.#hwm_s
      const isLost = this.#lacksRows(this.#stored_s)
      const until = isLost ? Math.min(end_s, this.#stored_s + span_s(this.#base)) : end_s
      const ring = isLost ? this.#ringFromTail(until) : this.ring
      // A gap may be years long: one transaction passes over it.
      this.#store(until === gap?.from_s ? gap.to_s : until, ring, until)
    }
  }

  /** Returns a ring with the rows before `to_s` that open chunks can need. */
  #ringFromTail(to_s: number): RingWriter {
    const ring = this.#emptyRing()
    const from_s = this.#stored_s - TAIL_KEPT_S
    ring.reset(from_s)
    const { records } = readTail(this.#directory, this.#tailPlace)
    restoreRows(records, ring, from_s, to_s, this.registry.objects)
    return ring
  }

  /** Records that the seconds up to `to_s` are unknown. */
  #appendGap(to_s: number): void {
    const from_s = this.#hwm_s
    this.#append(to_s, from_s, false)
    if (to_s - from_s >= RING_SERVED_S) this.#gaps = withGap(this.#gaps, { from_s, to_s })
  }

  /** Returns an unshared ring with the same slots. */
  #emptyRing(): RingWriter {
    const ring = new RingWriter()
    for (const object of this.registry.objects) if (object.slot >= 0) ring.own(object.slot, object.id)
    return ring
  }

  /** Runs one transaction with the chunks that are due up to `to_s`. Only seconds before `rowsTo_s` have rows. */
  #store(to_s: number, ring: RingWriter, rowsTo_s: number): void {
    const from_s = this.#stored_s
    const objects = this.registry.active()
    const reader = ring === this.ring ? this.#reader : this.#readerOf(ring)
    this.registry.noteSeen(ring, from_s, rowsTo_s)
    this.databases.environment.transactionSync(() => {
      // First, so that the following writes reuse the freed pages.
      this.#trim(from_s, to_s)
      for (const [index, tier] of this.databases.table.entries()) {
        const database = this.databases.tiers[index]
        const source = this.#source(reader, index, from_s)
        // After the last row each object has at most one chunk with data: the one that was open.
        const last = Math.min(to_s, rowsTo_s + span_s(tier))
        if (database !== undefined) this.#chunks.storeDue(database, tier, objects, source, from_s, last)
      }
      this.databases.meta.putSync(META_PROGRESS, makeKey(to_s, this.#sampled_s))
      writeGaps(this.databases.meta, this.#gaps)
    })
    this.#storedBefore_s = from_s
    this.#stored_s = to_s
    if (ring === this.ring) this.#needed_s = this.ring.oldest()
    // Looking for dead objects once a minute is enough.
    if (this.#sampled_s === this.#hwm_s && isCrossed(from_s, to_s, 60)) this.#lookForGone(from_s, to_s)
  }

  /**
   * Inside a transaction: trims one tier per second, so that not every tier's head is cut each time. Uses the time of
   * the last transaction: after a long silence, chunks that are due now are still made from data that has since
   * expired.
   */
  #trim(from_s: number, to_s: number): void {
    const { table } = this.databases
    const keys_max = trimKeys(table, this.registry.active().length)
    for (let second = Math.max(from_s, to_s - table.length) + 1; second <= to_s; second++)
      trimTier(this.databases, second % table.length, from_s, this.#gaps, keys_max)
  }

  /** Called before anything is changed for a transaction. */
  #ensureRoom(): void {
    if (this.#held !== undefined) throw new NoRoomError(this.#held)
    this.#room.ensure(ROOM_BYTES_MIN + ROOM_BYTES_PER_OBJECT * this.registry.active().length)
  }

  #lookForGone(before_s: number, now_s: number): void {
    const coarsest = this.databases.table.at(-1) ?? this.#base
    this.registry.retire(now_s, span_s(coarsest))
    // Their last chunk ended later than they did; it is trimmed in its turn.
    if (isCrossed(before_s, now_s, 3_600))
      this.registry.expire(keptFrom(coarsest, now_s, this.#gaps) - 2 * span_s(coarsest))
    this.databases.environment.readerCheck() // Otherwise a killed reader would pin its pages for ever.
  }

  #source(reader: TierReader, tier: number, flushed_s: number): ChunkSource {
    return {
      base: (object, start_s, end_s, out) => void reader.readBase(object, start_s, end_s, flushed_s, out),
      coarse: (object, start_s, end_s, out) => void reader.readCoarse(tier, object, start_s, end_s, flushed_s, out),
    }
  }

  /** Gives up older seconds of the finest tier while the disk is full. Returns whether anything was freed. */
  relieve(): boolean {
    this.#room.ensure(RELIEF_BYTES)
    if (!relieve(this.databases, this.#hwm_s)) return false
    this.#publishFloors()
    return true
  }

  /**
   * Handles a clock that was set back by more than can be slewed: discards everything from `to_s` on, so that no second
   * has two values. Seconds before `to_s` that were not yet in a chunk are kept in the ring and in a new tail; the old
   * tail remains valid until LMDB records the new one.
   */
  stepBack(to_s: number): void {
    // As far back as a start expects the tail to reach: it treats missing rows as unknown.
    const from_s = to_s - TAIL_KEPT_S
    this.#ensureRoom()
    this.#storeAll()
    this.registry.placeAgain(to_s, TAIL_KEPT_S)
    if (this.registry.hasUnsaved) this.#saveObjects()
    const rows = rowsBetween(this.registry.objects, this.#reader, this.#stored_s, from_s, to_s)
    const place = newTailPlace(this.databases)
    // A separate ring, so that the current one is unchanged if LMDB refuses.
    const ring = this.#emptyRing()
    rewindRing(ring, rows, from_s, to_s)
    const file = this.#beginTail(place, ring, from_s, to_s)
    this.#gaps = this.databases.environment.transactionSync(() => {
      const left = forgetFrom(this.databases, this.#hwm_s, this.#gaps, to_s)
      this.databases.meta.putSync(META_PROGRESS, makeKey(to_s, 0))
      writeTailPlace(this.databases, place)
      return left
    })
    this.registry.stepBack(to_s)
    rewindRing(this.ring, rows, from_s, to_s)
    this.#tailFile.close()
    removeTail(this.#directory, this.#tailPlace.pair)
    this.#tailFile = file
    this.#tailPlace = place
    this.#hwm_s = to_s
    this.#stored_s = to_s
    this.#storedBefore_s = to_s
    this.#sampled_s = 0
    this.#needed_s = this.ring.oldest()
    this.#publishFloors()
    this.ring.publish(to_s, to_s)
  }

  /** Writes a new crash tail with the rows [from, to) of a ring. */
  #beginTail(place: TailPlace, ring: RingWriter, from_s: number, to_s: number): TailFile {
    removeTail(this.#directory, place.pair)
    const file = new TailFile(this.#directory, place)
    try {
      for (let at = from_s; at < to_s; at += SECONDS_PER_COMMIT) {
        const until = Math.min(to_s, at + SECONDS_PER_COMMIT)
        const seconds = { from_s: at, to_s: until, rowsTo_s: until, sampled_s: 0 }
        this.#tail.append(file, ring, this.registry.objects, seconds, 0)
      }
      return file
    } catch (error) {
      file.close()
      throw error
    }
  }

  async close(): Promise<void> {
    this.#tailFile.close()
    await closeEnvironment(this.databases.environment)
  }
}

/** Whether a multiple of `step_s` lies in (from, to]. */
function isCrossed(from_s: number, to_s: number, step_s: number): boolean {
  return Math.floor(to_s / step_s) > Math.floor(from_s / step_s)
}
