import { type BinaryDatabase, type BinaryEnvironment, openBinaryDatabase, openBinaryEnvironment } from '../env.ts'
import { ARCHIVE_DATABASES_MAX, ARCHIVE_MAP_BYTES } from '../limits.ts'
import { makeKey, writeKey } from './layout.ts'
import { newTable, readTable, type StoredTier } from './tier-table.ts'
import { TIERS } from './tiers.ts'
import type { ChunkLookup } from './tier-reader.ts'

/** The named databases of the archive. The writer opens them all before any reader: a read transaction cannot see a newer one. */
export interface ArchiveDatabases {
  readonly environment: BinaryEnvironment
  readonly catalog: BinaryDatabase
  readonly meta: BinaryDatabase
  readonly baseline: BinaryDatabase
  readonly tail: BinaryDatabase
  /** The tiers of this archive, from fine to coarse. */
  readonly table: readonly StoredTier[]
  /** One for each entry of `table`. */
  readonly tiers: readonly BinaryDatabase[]
}

export const META_SCHEMA = makeKey(0, 0)
export const META_PROGRESS = makeKey(0, 1)
export const META_NEXT_ID = makeKey(0, 2)

export function openArchiveDatabases(directory: string): ArchiveDatabases {
  const environment = openBinaryEnvironment({
    directory,
    databases_max: ARCHIVE_DATABASES_MAX,
    map_bytes: ARCHIVE_MAP_BYTES,
  })
  const meta = openBinaryDatabase(environment, 'meta')
  return {
    environment,
    catalog: openBinaryDatabase(environment, 'catalog'),
    meta,
    baseline: openBinaryDatabase(environment, 'baseline'),
    tail: openBinaryDatabase(environment, 'tail'),
    ...openTiers(environment, readTable(meta) ?? newTable(TIERS)),
  }
}

export function openTiers(
  environment: BinaryEnvironment,
  table: readonly StoredTier[],
): Pick<ArchiveDatabases, 'table' | 'tiers'> {
  return { table, tiers: table.map((tier) => openBinaryDatabase(environment, tier.database)) }
}

/** Chunks straight from LMDB's shared buffer: decoded before the next call, never kept. */
export function chunkLookup({ tiers }: Pick<ArchiveDatabases, 'tiers'>): ChunkLookup {
  const key = new Uint8Array(8)
  return (tier, end_s, objectId) => tiers[tier]?.getBinaryFast(writeKey(key, end_s, objectId))
}
