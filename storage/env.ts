import { mkdirSync } from 'node:fs'
import {
  type Database,
  type DatabaseOptions,
  type Key,
  open,
  type RangeOptions,
  type RootDatabase,
  type RootDatabaseOptions,
} from 'lmdb'
import { assertWholeFile } from './file-check.ts'
import { makeLockFile } from './room.ts'

/** Keys and values as bytes: the part of lmdb-js that the archive needs. */
export type BinaryDatabase = Database<Uint8Array, Uint8Array>
export type BinaryEnvironment = RootDatabase<Uint8Array, Uint8Array>

export interface EnvironmentOptions {
  readonly directory: string
  readonly databases_max: number
  readonly map_bytes: number
}

/**
 * Opens an LMDB environment in its own folder. Every opener, reader or writer, must pass the same options: lmdb-js
 * shares one native environment within the process. `useWritemap` stays off: a full disk would end the process with
 * SIGBUS.
 */
export function openBinaryEnvironment(options: EnvironmentOptions): BinaryEnvironment {
  mkdirSync(options.directory, { recursive: true, mode: 0o700 })
  assertWholeFile(options.directory)
  makeLockFile(options.directory)
  return openEnvironment<Uint8Array, Uint8Array>(options.directory, {
    maxDbs: options.databases_max,
    mapSize: options.map_bytes,
    keyEncoding: 'binary',
    encoding: 'binary',
  })
}

/** LMDB's own error does not say which environment it is about. */
export function openEnvironment<V, K extends Key>(
  directory: string,
  options: Omit<RootDatabaseOptions, 'path' | 'noSubdir'>,
): RootDatabase<V, K> {
  try {
    return open<V, K>({ path: directory, noSubdir: false, ...options })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${directory} cannot be opened: ${reason}`, { cause: error })
  }
}

export function openBinaryDatabase(environment: BinaryEnvironment, name: string): BinaryDatabase {
  return openDatabase<Uint8Array>(environment, { name, keyEncoding: 'binary', encoding: 'binary' })
}

type Options = DatabaseOptions & { readonly name: string }
type Environment = Pick<RootDatabase, 'openDB' | 'close'>

/** Opens a database whose reads `closeEnvironment` can refuse; for all that are read while the environment is open. */
export function openDatabase<K extends Key>(environment: Environment, options: Options) {
  const database = environment.openDB<Uint8Array, K>(options)
  OPENED.set(environment, [...(OPENED.get(environment) ?? []), database])
  return database
}

const OPENED = new WeakMap<object, readonly object[]>()

/** Methods of lmdb-js that begin a read transaction. */
const READS = ['get', 'getBinary', 'getBinaryFast', 'getEntry', 'getRange', 'getKeys', 'getStats', 'doesExist'] as const

/**
 * Waits for pending writes. Later reads are refused, as writes are: in lmdb-js 3.5 a read during the close causes an
 * error that cannot be caught and ends the process.
 */
export function closeEnvironment(environment: Environment): Promise<void> {
  refuseReads(environment, () => new Error('the store is closed'))
  return environment.close()
}

export function refuseReads(environment: Environment, refusal: () => Error): void {
  const value = () => {
    throw refusal()
  }
  for (const database of [environment, ...(OPENED.get(environment) ?? [])])
    for (const read of READS) Object.defineProperty(database, read, { value, configurable: true })
}

/**
 * Removes a range of keys, at most `limit`, and returns how many. The keys are read first, because a cursor does not
 * survive changes under it.
 */
export function removeRange(
  database: { getKeys(range: RangeOptions): Iterable<Uint8Array>; removeSync(key: Uint8Array): unknown },
  range: { start?: Uint8Array; end?: Uint8Array; limit?: number },
): number {
  const keys = [...database.getKeys(range)]
  for (const key of keys) database.removeSync(key)
  return keys.length
}

/** Returns how much of the data file is in use: up to the last page that was ever allocated. */
export function usedBytes(environment: { getStats(): object }): number {
  const { pageSize, lastPageNumber } = { pageSize: 0, lastPageNumber: 0, ...environment.getStats() }
  return (lastPageNumber + 1) * pageSize
}
