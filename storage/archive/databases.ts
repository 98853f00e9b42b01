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
 * The named databases of the archive. The writer opens all of them before any reader: a read transaction cannot see a
 * newer one.
 */
export interface ArchiveDatabases {
  /** Folder of the environment and of the crash tail's files. */
  readonly directory: string
  readonly environment: BinaryEnvironment
  /** The only database without a seal: holds the schema's row, which every version must be able to read. */
  readonly schema: BinaryDatabase
  readonly catalog: SealedRows
  readonly meta: SealedRows
  /** Counters of the crash tail in schemas that kept it in LMDB. */
  readonly formerBaseline: SealedRows
  readonly formerTail: SealedRows
  /** The tiers of this archive, from fine to coarse. */
  readonly table: readonly StoredTier[]
  /** The chunks of each tier in `table`. */
  readonly tiers: readonly SealedRows[]
  /** Damaged places found so far. */
  readonly damage: Damage
}

export const META_SCHEMA = makeKey(0, 0)
export const META_PROGRESS = makeKey(0, 1)
export const META_NEXT_ID = makeKey(0, 2)
/** 3 is used by the table of tiers. */
const META_TAIL = makeKey(0, 4)
/** 5 is used by the gaps. */
export const SCHEMA_VERSION = 3
/** The schema with the crash tail in LMDB. */
export const TAIL_INSIDE_SCHEMA = 2
/** The schema without seals. */
export const UNSEALED_SCHEMA = 1

/** Returns `undefined` in an archive that has no place yet, or whose place is damaged. */
export function readTailPlace({ meta }: Pick<ArchiveDatabases, 'meta'>): TailPlace | undefined {
  const stored = meta.get(META_TAIL)
  return stored === undefined ? undefined : { mark: keyFirst(stored), pair: keySecond(stored) }
}

/** Inside a transaction: once it commits, the records with this mark are the crash tail. */
export function writeTailPlace({ meta }: Pick<ArchiveDatabases, 'meta'>, { mark, pair }: TailPlace): void {
  meta.putSync(META_TAIL, makeKey(mark, pair))
}

/** Returns a place for a new crash tail beside the current one. */
export function newTailPlace(databases: Pick<ArchiveDatabases, 'meta'>): TailPlace {
  return { mark: randomBytes(4).readUInt32BE(), pair: 1 - (readTailPlace(databases)?.pair ?? 1) }
}

export function openArchiveDatabases(directory: string): ArchiveDatabases {
  const environment = openBinaryEnvironment({
    directory,
    databases_max: ARCHIVE_DATABASES_MAX,
    map_bytes: ARCHIVE_MAP_BYTES,
  })
  // One transaction creates all databases with a single flush.
  return environment.transactionSync(() => openAll(directory, environment))
}

function openAll(directory: string, environment: BinaryEnvironment): ArchiveDatabases {
  const damage = new Damage()
  const schema = openBinaryDatabase(environment, 'meta')
  const isOlder = () => keyFirst(schema.get(META_SCHEMA) ?? makeKey(0, 0)) === UNSEALED_SCHEMA
  let isUnsealed = isOlder()
  // Read for each row of four small tables; once the archive is sealed, it stays so.
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

/** Returns chunks straight from LMDB's shared buffer: they must be decoded before the next call, and not kept. */
export function chunkLookup({ tiers }: Pick<ArchiveDatabases, 'tiers'>): ChunkLookup {
  const key = new Uint8Array(8)
  return (tier, end_s, objectId) => tiers[tier]?.getFast(writeKey(key, end_s, objectId))
}
