import { keySecond } from './layout.ts'
import { type ArchiveObject, decodeObject } from './catalog.ts'
import type { Points } from './consolidate.ts'
import { CORE_COUNT, METRIC_COUNT } from './tiers.ts'
import { type ArchiveDatabases, chunkLookup, openArchiveDatabases } from './databases.ts'
import { RingReader } from './ring.ts'
import { type ReadableObject, TierReader } from './tier-reader.ts'
import type { Tier } from './tiers.ts'
import { closeEnvironment } from '../env.ts'

/**
 * Attempts at a read that the ring's writer overtook. The ring has twenty seconds of slack, so even one retry is rare.
 */
const TRIES = 3

/**
 * Reads the archive beside its writer: chunks from LMDB, the newest seconds from the ring. Must be opened after the
 * writer has opened its databases. Every read starts from a fresh LMDB snapshot, so that it sees everything the
 * high-water mark promises.
 */
export class ArchiveReader {
  readonly #databases: ArchiveDatabases
  #ring: RingReader
  #core: TierReader
  #all: TierReader

  constructor(directory: string, header: SharedArrayBuffer, slabs: readonly SharedArrayBuffer[]) {
    this.#databases = openArchiveDatabases(directory)
    this.#ring = new RingReader(header, slabs)
    this.#core = this.#tierReader(CORE_COUNT)
    this.#all = this.#tierReader(METRIC_COUNT)
  }

  #tierReader(columns: number): TierReader {
    return new TierReader(this.#databases.table, chunkLookup(this.#databases), this.#ring, 'ring', columns)
  }

  /** Switches to the ring of a new writer. */
  attach(header: SharedArrayBuffer, slabs: readonly SharedArrayBuffer[]): void {
    this.#ring = new RingReader(header, slabs)
    this.#core = this.#tierReader(CORE_COUNT)
    this.#all = this.#tierReader(METRIC_COUNT)
  }

  addSlab(index: number, buffer: SharedArrayBuffer): void {
    this.#ring.addSlab(index, buffer)
  }

  /** The current tiers: on a full disk the finest one keeps less. */
  tiers(): readonly Tier[] {
    const { table } = this.#databases
    for (const [index, tier] of table.entries()) tier.floor_s = this.#ring.floor(index)
    return table
  }

  /** Seconds before this one are complete and never change. */
  hwm_s(): number {
    return this.#ring.hwm()
  }

  /** All objects the archive has ever seen and still keeps. */
  objects(): readonly ArchiveObject[] {
    return readCatalog(this.#databases)
  }

  /** Returns the reader for the first `columns` metrics that reads no more than it must. */
  #tiersFor(columns: number): TierReader {
    return columns === CORE_COUNT ? this.#core : this.#all
  }

  /**
   * Reads values of the first `columns` metrics (the core ones, or all) of the base tier, column-major with
   * `end - first` values per metric; NaN is unknown. Returns false when the ring was overwritten in every attempt, or
   * the object has lost its slot: the contents of `out` are then not final.
   */
  readBase(
    object: ReadableObject,
    first_s: number,
    end_s: number,
    out: Float64Array,
    columns: number = METRIC_COUNT,
  ): boolean {
    const tiers = this.#tiersFor(columns)
    return this.#retry((flushed_s) => tiers.readBase(object, first_s, end_s, flushed_s, out))
  }

  /** Reads as many metrics as `out` has columns: the core ones, or all. */
  readCoarse(tier: number, object: ReadableObject, first_s: number, end_s: number, out: Points): boolean {
    const tiers = this.#tiersFor(out.columns)
    return this.#retry((flushed_s) => tiers.readCoarse(tier, object, first_s, end_s, flushed_s, out))
  }

  #retry(read: (flushed_s: number) => boolean): boolean {
    for (let tries = 0; tries < TRIES; tries++) {
      const flushed_s = this.#ring.stored()
      this.#databases.environment.resetReadTxn()
      if (read(flushed_s)) return true
    }
    return false
  }

  /** Returns the damage that reads have found since the last call. */
  takeDamage(): readonly string[] {
    return this.#databases.damage.take()
  }

  async close(): Promise<void> {
    await closeEnvironment(this.#databases.environment)
  }
}

export function readCatalog(databases: Pick<ArchiveDatabases, 'catalog'>): readonly ArchiveObject[] {
  const objects: ArchiveObject[] = []
  for (const { key, value } of databases.catalog.getRange()) {
    const object = decodeObject(keySecond(key), value)
    if (object !== undefined) objects.push(object)
  }
  return objects
}
