import { RING_SERVED_S, ROOM_BYTES_MIN, ROOM_BYTES_PER_OBJECT, SECONDS_PER_COMMIT } from '../limits.ts'
import { TAIL_KEPT_S, TRIM_KEYS_MAX } from '../limits.ts'
import { usedBytes } from '../env.ts'
import { FileRoom, NoRoomError } from '../room.ts'
import type { ArchiveObject, ObjectKind } from './catalog.ts'
import { type ChunkSource, ChunkWriter } from './chunk-writer.ts'
import { type ArchiveDatabases, chunkLookup, META_PROGRESS, openArchiveDatabases } from './databases.ts'
import { coverageStart, makeKey } from './layout.ts'
import { adoptTiers } from './adopt-tiers.ts'
import { recover } from './recover.ts'
import { ObjectRegistry } from './registry.ts'
import { rewindRing } from './rewind-ring.ts'
import { RingWriter } from './ring.ts'
import { type Baseline, TailWriter } from './tail-writer.ts'
import { span_s, type Tier, tierAt, TIERS } from './tiers.ts'
import { TierReader } from './tier-reader.ts'
import { forgetFrom, RELIEF_BYTES, relieve, trimTier } from './trim.ts'

/**
 * The one writer of the archive. The caller fills the ring (`beginSecond`, `set`) and calls `commit`: one LMDB
 * transaction with the tail rows, the chunks that are due in every tier, the trimming and the high-water mark.
 */
export class ArchiveWriter {
  readonly ring: RingWriter
  readonly databases: ArchiveDatabases
  readonly #room: FileRoom
  readonly registry: ObjectRegistry
  #held: string | undefined
  #hwm_s: number
  #sampled_s: number
  /**
   * What the ring held at the last commit: without these rows an open chunk would lose what is already answered for.
   */
  #needed_s: number
  readonly #reader: TierReader
  readonly #tail: TailWriter
  readonly #chunks = new ChunkWriter()

  /**
   * Opens or makes the archive and rebuilds the ring from the crash tail. When the tiers are not those the archive was
   * made with, what it holds is carried over first.
   */
  constructor(directory: string, now_s: number, tiers: readonly Tier[] = TIERS) {
    const opened = openArchiveDatabases(directory)
    this.ring = new RingWriter()
    this.#room = new FileRoom(directory, () => usedBytes(opened.environment))
    this.#tail = new TailWriter(opened)
    const found = recover(opened, now_s, this.#room)
    this.#hwm_s = found.hwm_s
    this.#sampled_s = found.sampled_s
    this.#needed_s = found.ringOldest_s
    this.registry = new ObjectRegistry(found.objects, found.nextId, this.ring)
    this.ring.reset(found.ringOldest_s)
    for (const object of found.objects) {
      // One that is gone gets a place when it is back: the way there also says that it lives.
      if (object.died_s === undefined && found.inTail.has(object.id)) this.registry.place(object)
    }
    this.#tail.restore(this.ring, found.ringOldest_s, found.hwm_s, this.registry.objects)
    this.databases = adoptTiers(opened, tiers, this.registry.objects, this.ring, found.hwm_s, this.#room)
    this.#reader = this.#readerOf(this.ring)
    this.#publishFloors()
    this.ring.publish(found.hwm_s, found.hwm_s)
  }

  /** Keeps commits from the disk until `undefined` is given: they fail with this reason, and all goes on in memory. */
  hold(reason: string | undefined): void {
    this.#held = reason
  }

  /** Why there is, or will soon be, no room for more; `undefined` while there is enough. */
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
  /** The second up to which the source was last read successfully, by this run or an earlier one. */
  get sampled_s(): number {
    return this.#sampled_s
  }

  objects = (): readonly ArchiveObject[] => this.registry.objects

  /** The object of this name with a place in the ring, made if need be. `undefined` beyond the cap. */
  ensure(kind: ObjectKind, name: string, backend: string): ArchiveObject | undefined {
    return this.registry.ensure(kind, name, backend, this.#hwm_s)
  }

  /**
   * Stores all seconds before `to_s` that are not stored yet. The ring must hold their rows; seconds without a row are
   * unknown. `sampled` says that the source was read at `to_s`. Throws when LMDB refuses: the rows stay in the ring,
   * are served from there and go with the next commit that succeeds.
   */
  commit(to_s: number, sampled: boolean, baseline: Baseline | undefined): void {
    try {
      this.#store(to_s, sampled, baseline)
    } catch (error) {
      this.#advance(to_s)
      this.ring.publish(Math.max(this.#hwm_s, this.ring.written()), this.#hwm_s)
      throw error
    }
    this.#needed_s = this.ring.oldest()
    this.ring.publish(this.#hwm_s, this.#hwm_s)
  }

  #store(to_s: number, sampled: boolean, baseline: Baseline | undefined): void {
    const { ring } = this
    const lostRows = ring.oldest() > Math.max(this.#needed_s, this.#hwm_s - span_s(this.#base) + 1)
    if (lostRows) this.#storeFromTail(Math.min(to_s, Math.max(ring.oldest(), this.#hwm_s + span_s(this.#base))))
    if (to_s - this.#hwm_s >= RING_SERVED_S && ring.written() <= this.#hwm_s) {
      this.#storeRange(this.#hwm_s, to_s, { rowsTo_s: this.#hwm_s, sampled: false, reader: this.#reader })
      ring.reset(to_s)
    }
    while (this.#hwm_s < to_s) {
      const until = Math.min(to_s, this.#hwm_s + SECONDS_PER_COMMIT)
      for (let second = ring.written(); second < until; second++) ring.beginSecond(second)
      const now = until === to_s ? { sampled, baseline } : { sampled: false }
      this.#storeRange(this.#hwm_s, until, { rowsTo_s: until, ...now, reader: this.#reader })
    }
  }

  get #base(): Tier {
    return tierAt(0, this.databases.table)
  }

  /**
   * Nothing is known of the seconds before `to_s`. When they cannot be stored, the next commit tries again and tells.
   */
  passOver(to_s: number): void {
    try {
      this.commit(to_s, false, undefined)
    } catch {}
  }

  /** The seconds up to `to_s` that have no row stay unknown; time goes on although nothing can be stored. */
  #advance(to_s: number): void {
    const { ring } = this
    if (to_s - ring.written() >= RING_SERVED_S) ring.reset(to_s)
    else for (let second = ring.written(); second < to_s; second++) ring.beginSecond(second)
  }

  /**
   * The disk refused for so long that rows which open chunks need are no longer in the ring. What was committed of them
   * is in the crash tail; what was not, up to `to_s`, is lost.
   */
  #storeFromTail(to_s: number): void {
    // Reading the tail is dear, and on a full disk it would be in vain, each second.
    this.#ensureRoom()
    const ring = new RingWriter()
    const from_s = this.#hwm_s - TAIL_KEPT_S
    for (const object of this.registry.objects) if (object.slot >= 0) ring.own(object.slot, object.id)
    ring.reset(from_s)
    this.#tail.restore(ring, from_s, this.#hwm_s, this.registry.objects)
    this.#storeRange(this.#hwm_s, to_s, { rowsTo_s: this.#hwm_s, sampled: false, reader: this.#readerOf(ring) })
    // A tier must not know less of a second than the next finer one.
    this.ring.forgetBefore(to_s)
  }

  /** One transaction. Of the seconds [from, to) those before `rowsTo_s` have rows. */
  #storeRange(
    from_s: number,
    to_s: number,
    how: { rowsTo_s: number; sampled: boolean; reader: TierReader; baseline?: Baseline | undefined },
  ): void {
    const sampled_s = how.sampled ? to_s : this.#sampled_s
    const objects = this.registry.active()
    this.#ensureRoom()
    this.registry.noteSeen(from_s, how.rowsTo_s)
    this.databases.environment.transactionSync(() => {
      // First, so that the pages it frees are written again by what follows instead of once as garbage.
      this.#tail.trim(to_s - TAIL_KEPT_S)
      // As of the last commit: after a long silence what is due now is still made from what has expired since.
      trimTier(this.databases, to_s % this.databases.table.length, from_s, TRIM_KEYS_MAX)
      this.registry.store(this.databases)
      for (let second = from_s; second < how.rowsTo_s; second++) this.#tail.storeSecond(this.ring, second, objects)
      for (const [index, tier] of this.databases.table.entries()) {
        const database = this.databases.tiers[index]
        const source = this.#source(how.reader, index, from_s)
        // After a gap longer than a chunk, each object has one chunk with data at most: the one that was open.
        const last = Math.min(to_s, from_s + span_s(tier))
        if (database !== undefined) this.#chunks.storeDue(database, tier, objects, source, from_s, last)
      }
      if (how.baseline !== undefined) this.#tail.storeBaseline(to_s, objects, how.baseline)
      this.databases.meta.putSync(META_PROGRESS, makeKey(to_s, sampled_s))
    })
    this.registry.saved()
    this.#hwm_s = to_s
    this.#sampled_s = sampled_s
    // Once a minute is often enough to look for objects that are gone.
    if (how.sampled && to_s % 60 === 0) this.#lookForGone(to_s)
  }

  /** Before anything is changed for a transaction. */
  #ensureRoom(): void {
    if (this.#held !== undefined) throw new NoRoomError(this.#held)
    this.#room.ensure(ROOM_BYTES_MIN + ROOM_BYTES_PER_OBJECT * this.registry.active().length)
  }

  #lookForGone(now_s: number): void {
    const coarsest = this.databases.table.at(-1) ?? this.#base
    this.registry.retire(now_s, span_s(coarsest))
    // Their last chunk ended later than they did, and is trimmed in its turn.
    if (now_s % 3_600 === 0) this.registry.expire(coverageStart(coarsest, now_s) - 2 * span_s(coarsest))
    this.databases.environment.readerCheck() // Else a killed process that read the file pins its pages for ever.
  }

  #source(reader: TierReader, tier: number, flushed_s: number): ChunkSource {
    return {
      base: (object, start_s, end_s, out) => void reader.readBase(object, start_s, end_s, flushed_s, out),
      coarse: (object, start_s, end_s, out) => void reader.readCoarse(tier, object, start_s, end_s, flushed_s, out),
    }
  }

  /** Gives up older seconds of the finest tier while the disk is full. Answers whether anything was freed. */
  relieve(): boolean {
    this.#room.ensure(RELIEF_BYTES)
    if (!relieve(this.databases, this.#hwm_s)) return false
    this.#publishFloors()
    return true
  }

  /**
   * The clock was set back by more than can be slewed: throws away what lies at or after `to_s`, so that no second has
   * two values. What was not yet in a chunk before `to_s` is kept in the ring and the tail.
   */
  stepBack(to_s: number): void {
    const { points } = this.#base
    this.#ensureRoom()
    this.registry.stepBack(to_s, points)
    rewindRing(this.ring, this.registry.objects, this.#reader, this.#hwm_s, to_s - points, to_s)
    this.databases.environment.transactionSync(() => {
      forgetFrom(this.databases, this.#hwm_s, to_s)
      for (let i = 0; i < points; i++) this.#tail.storeSecond(this.ring, to_s - points + i, this.registry.objects)
      this.databases.meta.putSync(META_PROGRESS, makeKey(to_s, 0))
    })
    this.#hwm_s = to_s
    this.#sampled_s = 0
    this.#needed_s = this.ring.oldest()
    this.#publishFloors()
    this.ring.publish(to_s, to_s)
  }

  async close(): Promise<void> {
    await this.databases.environment.close()
  }
}
