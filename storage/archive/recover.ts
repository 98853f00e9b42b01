import { ARCHIVE_HEARTBEAT_S, ROOM_BYTES_MIN, TAIL_BLOCK_OBJECTS, TAIL_KEPT_S } from '../limits.ts'
import type { FileRoom } from '../room.ts'
import { ByteSource } from './bytes.ts'
import type { ArchiveObject } from './catalog.ts'
import { type ArchiveDatabases, META_NEXT_ID, META_PROGRESS, META_SCHEMA, UNSEALED_SCHEMA } from './databases.ts'
import { keyFirst, keySecond, makeKey } from './layout.ts'
import { readCatalog } from './reader.ts'
import { type BaselineHead, blockOf, decodeBaseline, decodeBlock, placeInBlock } from './tail.ts'
import { COUNTER_COUNT, METRIC_COUNT } from './tiers.ts'

export interface Recovered {
  readonly hwm_s: number
  readonly sampled_s: number
  readonly nextId: number
  readonly objects: ArchiveObject[]
  readonly ringOldest_s: number
  /** Numbers of the objects that may have values in the tail. */
  readonly inTail: ReadonlySet<number>
}

export const SCHEMA_VERSION = 2

/** Reads (or, in an empty archive, writes) what the writer must know before its first second. */
export function recover(databases: ArchiveDatabases, now_s: number, room: FileRoom): Recovered {
  const { meta } = databases
  const schema = databases.schema.get(META_SCHEMA)
  if (schema === undefined) {
    // A new archive begins a little in the past: HAProxy may have been started moments before.
    const hwm_s = now_s - ARCHIVE_HEARTBEAT_S
    room.ensure(ROOM_BYTES_MIN)
    databases.environment.transactionSync(() => {
      databases.schema.putSync(META_SCHEMA, makeKey(SCHEMA_VERSION, 0))
      meta.putSync(META_PROGRESS, makeKey(hwm_s, 0))
      meta.putSync(META_NEXT_ID, makeKey(0, 1))
    })
    return { hwm_s, sampled_s: 0, nextId: 1, objects: [], ringOldest_s: hwm_s, inTail: new Set() }
  }
  if (keyFirst(schema) === UNSEALED_SCHEMA) sealAll(databases, room)
  else if (keyFirst(schema) !== SCHEMA_VERSION)
    throw new Error(`the archive has schema ${keyFirst(schema)}, not ${SCHEMA_VERSION}`)
  const { hwm_s, sampled_s } = readProgress(databases)
  const objects = [...readCatalog(databases)]
  const ringOldest_s = Math.max(0, hwm_s - TAIL_KEPT_S)
  return {
    hwm_s,
    sampled_s,
    nextId: nextIdOf(meta.get(META_NEXT_ID), objects),
    objects,
    ringOldest_s,
    inTail: objectsInTail(databases, objects),
  }
}

/** When the number is damaged: above all that are kept. */
function nextIdOf(stored: Uint8Array | undefined, objects: readonly ArchiveObject[]): number {
  return stored === undefined ? Math.max(0, ...objects.map(({ id }) => id)) + 1 : keySecond(stored)
}

/** Chunks keep their own version; the rest is small. */
function sealAll({ environment, schema, meta, catalog, baseline, tail }: ArchiveDatabases, room: FileRoom): void {
  room.ensure(ROOM_BYTES_MIN)
  environment.transactionSync(() => {
    for (const rows of [meta, catalog, baseline, tail]) rows.seal()
    schema.putSync(META_SCHEMA, makeKey(SCHEMA_VERSION, 0))
  })
}

/** How far the archive has come: seconds before `hwm_s` are stored, the source was last read at `sampled_s`. */
export function readProgress({ meta, tail }: Pick<ArchiveDatabases, 'meta' | 'tail'>): {
  hwm_s: number
  sampled_s: number
} {
  const progress = meta.get(META_PROGRESS)
  if (progress !== undefined) return { hwm_s: keyFirst(progress), sampled_s: keySecond(progress) }
  // Damaged: the crash tail ends where it was.
  const [last] = tail.getKeys({ reverse: true, limit: 1 })
  return { hwm_s: last === undefined ? 0 : keyFirst(last) + 1, sampled_s: 0 }
}

function objectsInTail(databases: ArchiveDatabases, objects: readonly ArchiveObject[]): ReadonlySet<number> {
  const blocks = new Set<number>()
  for (const key of databases.tail.getKeys()) blocks.add(keySecond(key))
  return new Set(objects.filter((object) => blocks.has(blockOf(object.id))).map((object) => object.id))
}

export interface RecoveredBaseline {
  readonly pid: number
  /** Counters by object number as of `sampled_s`. */
  readonly counters: ReadonlyMap<number, readonly number[]>
}

function groupByBlock(objects: readonly ArchiveObject[]): ReadonlyMap<number, readonly ArchiveObject[]> {
  const groups = new Map<number, ArchiveObject[]>()
  for (const object of objects) {
    const group = groups.get(blockOf(object.id))
    if (group === undefined) groups.set(blockOf(object.id), [object])
    else group.push(object)
  }
  return groups
}

/**
 * The counters of the HAProxy process as of the last poll before the daemon ended: the stored copy plus the increments
 * stored since. With them a restart shorter than the heartbeat loses nothing and invents nothing. `undefined` when
 * there are none.
 */
export function recoverBaseline(
  databases: ArchiveDatabases,
  objects: readonly ArchiveObject[],
): RecoveredBaseline | undefined {
  const byBlock = groupByBlock(objects)
  const heads = new Map<number, BaselineHead>()
  const counters = new Map<number, number[]>()
  const values = new Float64Array(COUNTER_COUNT * TAIL_BLOCK_OBJECTS)
  const pid = newestPid(databases, values)
  if (pid === undefined) return undefined
  for (const { key, value } of databases.baseline.getRange()) {
    const block = keySecond(key)
    const head = decodeBaseline(value, values)
    // A copy of another process is of no use: its block saw no poll of the newest one.
    if (head.pid !== pid) continue
    heads.set(block, head)
    for (const object of byBlock.get(block) ?? []) {
      const place = placeInBlock(object.id)
      const row = COUNTERS.map((counter) => values[counter * TAIL_BLOCK_OBJECTS + place] ?? Number.NaN)
      // One that was stored with fewer counters, or does not have all of them, goes on with those that are known.
      if (!row.every(Number.isNaN)) counters.set(object.id, row)
    }
  }
  const increments = new Float64Array(METRIC_COUNT * TAIL_BLOCK_OBJECTS)
  for (const { key, value } of databases.tail.getRange()) {
    const block = keySecond(key)
    if (keyFirst(key) < (heads.get(block)?.second ?? Number.POSITIVE_INFINITY)) continue
    decodeBlock(new ByteSource(value), increments, METRIC_COUNT)
    for (const object of byBlock.get(block) ?? []) addRow(counters.get(object.id), increments, object.id)
  }
  return { pid, counters }
}

const COUNTERS = Array.from({ length: COUNTER_COUNT }, (_, counter) => counter)

function newestPid(databases: ArchiveDatabases, values: Float64Array): number | undefined {
  let newest: BaselineHead | undefined
  for (const { value } of databases.baseline.getRange()) {
    const head = decodeBaseline(value, values)
    if (newest === undefined || head.second > newest.second) newest = head
  }
  return newest?.pid
}

function addRow(counters: number[] | undefined, row: Float64Array, objectId: number): void {
  if (counters === undefined) return
  for (let counter = 0; counter < COUNTER_COUNT; counter++) {
    const increment = row[(counter + 1) * TAIL_BLOCK_OBJECTS + placeInBlock(objectId)] ?? Number.NaN
    if (increment === increment) counters[counter] = (counters[counter] ?? 0) + increment
  }
}
