import { randomBytes } from 'node:crypto'
import { type BinaryDatabase, type BinaryEnvironment, openBinaryDatabase, openBinaryEnvironment } from '../env.ts'
import { ARCHIVE_DATABASES_MAX, ARCHIVE_MAP_BYTES } from '../limits.ts'
import { isUnsealedChunk } from './chunk.ts'
import { Damage } from './damage.ts'
import { keyFirst, keySecond, makeKey, writeKey } from './layout.ts'
import { SealedRows } from './sealed-rows.ts'
import type { TailPlace } from './tail-file.ts'
import { newTable, readTable, type StoredTier } from './tier-table.ts'
import { TIERS } from './tiers.ts'
import type { ChunkLookup } from './tier-reader.ts'

/**
 * The named databases of the archive. The writer opens them all before any reader: a read transaction cannot see a
 * newer one.
 */
export interface ArchiveDatabases {
  /** Where they are, and the crash tail beside them. */
  readonly directory: string
  readonly environment: BinaryEnvironment
  /** Has the schema's row alone without a seal, so that every version can read it. */
  readonly schema: BinaryDatabase
  readonly catalog: SealedRows
  readonly meta: SealedRows
  /** Had the crash tail before there were files for it. */
  readonly formerBaseline: SealedRows
  readonly formerTail: SealedRows
  /** The tiers of this archive, from fine to coarse. */
  readonly table: readonly StoredTier[]
  /** One for each entry of `table`. */
  readonly tiers: readonly SealedRows[]
  /** What was found that cannot be believed. */
  readonly damage: Damage
}

export const META_SCHEMA = makeKey(0, 0)
export const META_PROGRESS = makeKey(0, 1)
export const META_NEXT_ID = makeKey(0, 2)
/** 3 is the table of tiers. */
const META_TAIL = makeKey(0, 4)
/** 5 are the gaps. */
export const SCHEMA_VERSION = 3
/** The schema whose crash tail was in LMDB. */
export const TAIL_INSIDE_SCHEMA = 2
/** The schema whose rows had no seals. */
export const UNSEALED_SCHEMA = 1

/** `undefined` in an archive that has none yet, or does not know of it any more. */
export function readTailPlace({ meta }: Pick<ArchiveDatabases, 'meta'>): TailPlace | undefined {
  const stored = meta.get(META_TAIL)
  return stored === undefined ? undefined : { mark: keyFirst(stored), pair: keySecond(stored) }
}

/** Inside a transaction: from its end on the records of this mark are the crash tail. */
export function writeTailPlace({ meta }: Pick<ArchiveDatabases, 'meta'>, { mark, pair }: TailPlace): void {
  meta.putSync(META_TAIL, makeKey(mark, pair))
}

/** For a crash tail that begins anew beside the one that there is. */
export function newTailPlace(databases: Pick<ArchiveDatabases, 'meta'>): TailPlace {
  return { mark: randomBytes(4).readUInt32BE(), pair: 1 - (readTailPlace(databases)?.pair ?? 1) }
}

export function openArchiveDatabases(directory: string): ArchiveDatabases {
  const environment = openBinaryEnvironment({
    directory,
    databases_max: ARCHIVE_DATABASES_MAX,
    map_bytes: ARCHIVE_MAP_BYTES,
  })
  // New ones by one flush to the disk, and not one for each.
  return environment.transactionSync(() => openAll(directory, environment))
}

function openAll(directory: string, environment: BinaryEnvironment): ArchiveDatabases {
  const damage = new Damage()
  const schema = openBinaryDatabase(environment, 'meta')
  const isOlder = () => keyFirst(schema.get(META_SCHEMA) ?? makeKey(0, 0)) === UNSEALED_SCHEMA
  let isUnsealed = isOlder()
  // Asked for each row of four small tables; once they are sealed they stay so.
  const unsealed = () => isUnsealed && (isUnsealed = isOlder())
  const rows = (name: string) => new SealedRows(openBinaryDatabase(environment, name), name, damage, unsealed)
  const isSchema = (key: Uint8Array) => keyFirst(key) === 0 && keySecond(key) === 0
  const meta = new SealedRows(schema, 'meta', damage, (key) => isSchema(key) || unsealed())
  return {
    directory,
    environment,
    schema,
    catalog: rows('catalog'),
    meta,
    formerBaseline: rows('baseline'),
    formerTail: rows('tail'),
    damage,
    ...openTiers({ environment, damage }, readTable(meta) ?? newTable(TIERS)),
  }
}

export function openTiers(
  { environment, damage }: Pick<ArchiveDatabases, 'environment' | 'damage'>,
  table: readonly StoredTier[],
): Pick<ArchiveDatabases, 'table' | 'tiers'> {
  return { table, tiers: table.map(({ database }) => openChunks({ environment, damage }, database)) }
}

export function openChunks(
  { environment, damage }: Pick<ArchiveDatabases, 'environment' | 'damage'>,
  name: string,
): SealedRows {
  return new SealedRows(openBinaryDatabase(environment, name), name, damage, (_, value) => isUnsealedChunk(value))
}

/** Chunks straight from LMDB's shared buffer: decoded before the next call, never kept. */
export function chunkLookup({ tiers }: Pick<ArchiveDatabases, 'tiers'>): ChunkLookup {
  const key = new Uint8Array(8)
  return (tier, end_s, objectId) => tiers[tier]?.getFast(writeKey(key, end_s, objectId))
}
