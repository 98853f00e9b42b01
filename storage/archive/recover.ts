import { ARCHIVE_HEARTBEAT_S, ROOM_BYTES_MIN, TAIL_BLOCK_OBJECTS, TAIL_KEPT_S } from '../limits.ts'
import type { FileRoom } from '../room.ts'
import { ByteSource } from './bytes.ts'
import type { ArchiveObject } from './catalog.ts'
import {
  type ArchiveDatabases,
  META_NEXT_ID,
  META_PROGRESS,
  META_SCHEMA,
  newTailPlace,
  readTailPlace,
  SCHEMA_VERSION,
  TAIL_INSIDE_SCHEMA,
  UNSEALED_SCHEMA,
  writeTailPlace,
} from './databases.ts'
import { keyFirst, keySecond, makeKey } from './layout.ts'
import { readCatalog } from './reader.ts'
import type { Row } from './sealed-rows.ts'
import { type BaselineHead, blockOf, decodeBaseline, decodeBlock, placeInBlock } from './tail.ts'
import { type FoundTail, readTail, removeTail, TailFile } from './tail-file.ts'
import { RecordSink, type TailPart, type TailPlace, type TailRecord } from './tail-file.ts'
import { groupByBlock } from './tail-writer.ts'
import { COUNTER_COUNT, METRIC_COUNT } from './tiers.ts'

export interface Recovered {
  /** Chunks that end by this second are stored; the rest is in the crash tail. */
  readonly stored_s: number
  readonly hwm_s: number
  readonly sampled_s: number
  readonly nextId: number
  readonly objects: ArchiveObject[]
  readonly ringOldest_s: number
  readonly tail: FoundTail
  readonly place: TailPlace
  /** Numbers of the objects that may have values in the tail. */
  readonly inTail: ReadonlySet<number>
}

/** Reads (or, in an empty archive, writes) the state that the writer needs before its first second. */
export function recover(databases: ArchiveDatabases, now_s: number, room: FileRoom): Recovered {
  const schema = databases.schema.get(META_SCHEMA)
  if (schema === undefined) beginArchive(databases, now_s - ARCHIVE_HEARTBEAT_S, room)
  else if (keyFirst(schema) === UNSEALED_SCHEMA || keyFirst(schema) === TAIL_INSIDE_SCHEMA) takeOver(databases, room)
  else if (keyFirst(schema) !== SCHEMA_VERSION)
    throw new Error(`the archive has schema ${keyFirst(schema)}, not ${SCHEMA_VERSION}`)
  const place = readTailPlace(databases) ?? replacePlace(databases, room)
  const tail = readTail(databases.directory, place)
  const progress = readProgress(databases, tail)
  for (const where of damageOf(tail, progress.stored_s)) databases.damage.report(where)
  const objects = [...readCatalog(databases)]
  return {
    ...progress,
    nextId: nextIdOf(databases.meta.get(META_NEXT_ID), objects),
    objects,
    ringOldest_s: Math.max(0, progress.stored_s - TAIL_KEPT_S),
    tail,
    place,
    inTail: objectsInTail(tail, objects),
  }
}

/** Begins a new archive a little in the past: HAProxy may have been started moments before. */
function beginArchive(databases: ArchiveDatabases, hwm_s: number, room: FileRoom): void {
  const { environment, schema, meta } = databases
  room.ensure(ROOM_BYTES_MIN)
  const place = newTailPlace(databases)
  writeTail(databases, place, [{ to_s: hwm_s, sampled_s: 0, parts: [] }])
  environment.transactionSync(() => {
    schema.putSync(META_SCHEMA, makeKey(SCHEMA_VERSION, 0))
    meta.putSync(META_PROGRESS, makeKey(hwm_s, 0))
    meta.putSync(META_NEXT_ID, makeKey(0, 1))
    writeTailPlace(databases, place)
  })
}

/** Begins a new crash tail because the record of the current one is damaged: the seconds in the old files are lost. */
function replacePlace(databases: ArchiveDatabases, room: FileRoom): TailPlace {
  const place = newTailPlace(databases)
  const stored_s = storedEnd(databases)
  room.ensure(ROOM_BYTES_MIN)
  writeTail(databases, place, [{ to_s: stored_s, sampled_s: 0, parts: [] }])
  databases.environment.transactionSync(() => writeTailPlace(databases, place))
  return place
}

/** Returns the next object number; if the stored one is damaged, a number above all existing ones. */
function nextIdOf(stored: Uint8Array | undefined, objects: readonly ArchiveObject[]): number {
  return stored === undefined ? Math.max(0, ...objects.map(({ id }) => id)) + 1 : keySecond(stored)
}

/**
 * Converts an older schema: chunks without seals keep their version, all other rows are sealed, and the crash tail
 * moves to files.
 */
function takeOver(databases: ArchiveDatabases, room: FileRoom): void {
  const { environment, schema, meta, catalog, formerBaseline, formerTail } = databases
  room.ensure(ROOM_BYTES_MIN)
  const place = newTailPlace(databases)
  const progress = meta.get(META_PROGRESS)
  const rows = [...formerTail.getRange()].map(copied)
  const baselines = [...formerBaseline.getRange()].map(copied)
  const to_s = progress === undefined ? keyFirst(rows.at(-1)?.key ?? makeKey(0, 0)) + 1 : keyFirst(progress)
  const parts = [...rows.map(rowPart), ...baselines.map((row) => baselinePart(row, to_s))]
  writeTail(databases, place, [{ to_s, sampled_s: progress === undefined ? 0 : keySecond(progress), parts }])
  environment.transactionSync(() => {
    for (const sealed of [meta, catalog]) sealed.seal()
    for (const former of [formerTail, formerBaseline]) former.clearSync()
    writeTailPlace(databases, place)
    schema.putSync(META_SCHEMA, makeKey(SCHEMA_VERSION, 0))
  })
}

/** Copies a row, because LMDB's buffers are valid only until the next change. */
const copied = ({ key, value }: Row): Row => ({ key: Uint8Array.from(key), value: Uint8Array.from(value) })
const rowPart = ({ key, value }: Row) =>
  ({ kind: 'row', second: keyFirst(key), block: keySecond(key), bytes: value }) as const
const baselinePart = ({ key, value }: Row, second: number) =>
  ({ kind: 'baseline', second, block: keySecond(key), bytes: value }) as const

/** Writes a complete crash tail to files that are not in use yet. */
export function writeTail(
  { directory }: Pick<ArchiveDatabases, 'directory'>,
  place: TailPlace,
  records: Iterable<Pick<TailRecord, 'to_s' | 'sampled_s'> & { parts: Iterable<TailPart> }>,
): void {
  removeTail(directory, place.pair)
  const file = new TailFile(directory, place)
  const sink = new RecordSink()
  try {
    for (const { to_s, sampled_s, parts } of records) {
      sink.begin(to_s)
      for (const { kind, second, block, bytes } of parts) sink.add(kind, second, block, bytes)
      file.append(sink, sampled_s, to_s, 0)
    }
  } finally {
    file.close()
  }
}

/**
 * Returns how far the archive has come: seconds before `hwm_s` are stored, and the source was last read at `sampled_s`.
 */
export function readProgress(
  databases: Pick<ArchiveDatabases, 'meta' | 'tiers'>,
  { records }: Pick<FoundTail, 'records'>,
): { stored_s: number; hwm_s: number; sampled_s: number } {
  const progress = databases.meta.get(META_PROGRESS)
  const last = records.at(-1)
  // If the row is damaged, uses the last chunk of all: no chunk was due between its end and the true value.
  const stored_s = progress === undefined ? Math.max(storedEnd(databases), records[0]?.to_s ?? 0) : keyFirst(progress)
  if (last !== undefined && last.to_s >= stored_s) return { stored_s, hwm_s: last.to_s, sampled_s: last.sampled_s }
  return { stored_s, hwm_s: stored_s, sampled_s: progress === undefined ? 0 : keySecond(progress) }
}

/** Returns where the crash tail lacks records. Each was on disk before the chunks of its seconds were. */
export function damageOf({ records, damaged }: FoundTail, stored_s: number): readonly string[] {
  const end_s = records.at(-1)?.to_s ?? 0
  return end_s >= stored_s ? damaged : [...damaged, `tail from ${end_s} to ${stored_s}`]
}

/** Returns the end of the stored chunks; if that row is damaged, the end of the last chunk of all. */
function storedEnd({ meta, tiers }: Pick<ArchiveDatabases, 'meta' | 'tiers'>): number {
  const progress = meta.get(META_PROGRESS)
  if (progress !== undefined) return keyFirst(progress)
  return Math.max(0, ...tiers.flatMap((tier) => Array.from(tier.getKeys({ reverse: true, limit: 1 }), keyFirst)))
}

function objectsInTail({ records }: FoundTail, objects: readonly ArchiveObject[]): ReadonlySet<number> {
  const blocks = new Set<number>()
  for (const record of records) for (const { block } of record.parts()) blocks.add(block)
  return new Set(objects.filter((object) => blocks.has(blockOf(object.id))).map((object) => object.id))
}

export interface RecoveredBaseline {
  readonly pid: number
  /** Counters by object number, as of `sampled_s`. */
  readonly counters: ReadonlyMap<number, readonly number[]>
}

/**
 * Returns the counters of the HAProxy process at the last poll before the daemon ended: the stored copy plus the
 * increments stored since. With them a restart shorter than the heartbeat neither loses nor invents anything.
 * `undefined` when there are none.
 */
export function recoverBaseline(
  databases: ArchiveDatabases,
  objects: readonly ArchiveObject[],
): RecoveredBaseline | undefined {
  const { records } = readTail(databases.directory, readTailPlace(databases) ?? newTailPlace(databases))
  const byBlock = groupByBlock(objects)
  const stored = newestBaselines(records)
  const pid = newestPid(stored)
  if (pid === undefined) return undefined
  const counters = storedCounters(stored, pid, byBlock)
  const increments = new Float64Array(METRIC_COUNT * TAIL_BLOCK_OBJECTS)
  for (const { second, block, bytes } of rowsOf(records)) {
    const head = stored.get(block)?.head
    if (head?.pid !== pid || second < head.second) continue
    decodeBlock(new ByteSource(bytes), increments, METRIC_COUNT)
    for (const object of byBlock.get(block) ?? []) addRow(counters.get(object.id), increments, object.id)
  }
  return { pid, counters }
}

/**
 * Returns the stored counters of one process. Those of others are useless: their block was in no poll of the newest
 * process.
 */
function storedCounters(
  stored: ReadonlyMap<number, StoredBaseline>,
  pid: number,
  byBlock: ReturnType<typeof groupByBlock>,
): ReadonlyMap<number, number[]> {
  const values = new Float64Array(COUNTER_COUNT * TAIL_BLOCK_OBJECTS)
  const counters = new Map<number, number[]>()
  for (const [block, { head, bytes }] of stored) {
    if (head.pid !== pid) continue
    decodeBaseline(bytes, values)
    for (const { id } of byBlock.get(block) ?? []) {
      const row = counterRow(values, placeInBlock(id))
      // A row that was stored with fewer counters, or lacks some, continues with the known ones.
      if (!row.every(Number.isNaN)) counters.set(id, row)
    }
  }
  return counters
}

function* rowsOf(records: readonly TailRecord[]): Generator<TailPart> {
  for (const record of records) for (const part of record.parts()) if (part.kind === 'row') yield part
}

function counterRow(values: Float64Array, place: number): number[] {
  return Array.from(
    { length: COUNTER_COUNT },
    (_, counter) => values[counter * TAIL_BLOCK_OBJECTS + place] ?? Number.NaN,
  )
}

interface StoredBaseline {
  readonly head: BaselineHead
  readonly bytes: Uint8Array
}

/** Returns the latest copy of each block. */
function newestBaselines(records: readonly TailRecord[]): ReadonlyMap<number, StoredBaseline> {
  const values = new Float64Array(COUNTER_COUNT * TAIL_BLOCK_OBJECTS)
  const newest = new Map<number, StoredBaseline>()
  for (const record of records) {
    for (const { kind, block, bytes } of record.parts())
      if (kind === 'baseline') newest.set(block, { head: decodeBaseline(bytes, values), bytes })
  }
  return newest
}

function newestPid(stored: ReadonlyMap<number, StoredBaseline>): number | undefined {
  let newest: BaselineHead | undefined
  for (const { head } of stored.values()) if (newest === undefined || head.second > newest.second) newest = head
  return newest?.pid
}

function addRow(counters: number[] | undefined, row: Float64Array, objectId: number): void {
  if (counters === undefined) return
  for (let counter = 0; counter < COUNTER_COUNT; counter++) {
    const increment = row[(counter + 1) * TAIL_BLOCK_OBJECTS + placeInBlock(objectId)] ?? Number.NaN
    if (increment === increment) counters[counter] = (counters[counter] ?? 0) + increment
  }
}
