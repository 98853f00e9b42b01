import { ARCHIVE_TIERS_MAX, ROOM_BYTES_MIN, ROOM_BYTES_PER_OBJECT } from '../limits.ts'
import type { FileRoom } from '../room.ts'
import type { ArchiveObject } from './catalog.ts'
import { type ChunkSource, ChunkWriter } from './chunk-writer.ts'
import { type ArchiveDatabases, chunkLookup, openChunks, openTiers } from './databases.ts'
import { coverageStart, floorTo } from './layout.ts'
import type { RingWriter } from './ring.ts'
import { carriedOver, newTable, readTable, sourceOf, type StoredTier, writeTable } from './tier-table.ts'
import { TierReader } from './tier-reader.ts'
import type { Tier } from './tiers.ts'

/** Maximum of the byte in which a chunk stores its number of buckets. */
const POINTS_MAX = 255
/** Minimum span of a new tier that one transaction writes. */
const SLICE_S = 3_600

/**
 * Switches the archive to the wanted tiers without losing what fits. A tier with the same buckets is kept, with its new
 * retention; any other is computed from the existing ones into its own database. One transaction at the end switches
 * the table, so a start that is killed half-way leaves the old one.
 */
export function adoptTiers(
  databases: ArchiveDatabases,
  wanted: readonly Tier[],
  objects: readonly ArchiveObject[],
  ring: RingWriter,
  hwm_s: number,
  room: FileRoom,
): ArchiveDatabases {
  assertUsable(wanted)
  const stored = readTable(databases.meta)
  if (stored !== undefined && sameTiers(stored, wanted)) return databases
  const old = stored ?? databases.table
  // Unchanged tiers need no room at a start; a change must not meet a full disk.
  const need = ROOM_BYTES_MIN + ROOM_BYTES_PER_OBJECT * objects.length
  room.ensure(need)
  if (objects.length === 0) return replaceTable(databases, old, newTable(wanted))
  const rebuild = new Rebuild(databases, objects, ring, hwm_s, () => room.ensure(need))
  const table = wanted.map((tier) => carriedOver(old, tier, hwm_s) ?? rebuild.tier(tier))
  return replaceTable(databases, old, table)
}

function replaceTable(
  databases: ArchiveDatabases,
  old: readonly StoredTier[],
  table: readonly StoredTier[],
): ArchiveDatabases {
  const { environment, meta } = databases
  const opened = openTiers(databases, table)
  environment.transactionSync(() => {
    writeTable(meta, table)
    for (const [index, { database }] of old.entries()) {
      if (!table.some((tier) => tier.database === database)) databases.tiers[index]?.clearSync()
    }
  })
  return { ...databases, ...opened }
}

/** Checks that every tier can be computed from the one before it, and that its chunks are short enough for one byte. */
function assertUsable(wanted: readonly Tier[]): void {
  if (wanted.length > ARCHIVE_TIERS_MAX) throw new RangeError(`more than ${ARCHIVE_TIERS_MAX} tiers`)
  if (wanted[0]?.step_s !== 1) throw new RangeError('the first tier has steps of 1 s')
  for (const [index, { name, step_s, points }] of wanted.entries()) {
    const finer = wanted[index - 1]?.step_s ?? 1
    if (step_s % finer !== 0) throw new RangeError(`${name}: steps of ${step_s} s are not made of steps of ${finer} s`)
    if (points > POINTS_MAX) throw new RangeError(`${name}: more than ${POINTS_MAX} points per chunk`)
  }
}

function sameTiers(stored: readonly StoredTier[], wanted: readonly Tier[]): boolean {
  return (
    stored.length === wanted.length &&
    wanted.every(({ name, step_s, rows, points }, index) => {
      const tier = stored[index]
      return tier?.name === name && tier.step_s === step_s && tier.rows === rows && tier.points === points
    })
  )
}

class Rebuild {
  readonly #databases: ArchiveDatabases
  readonly #objects: readonly ArchiveObject[]
  readonly #reader: TierReader
  readonly #hwm_s: number
  readonly #ensureRoom: () => void

  constructor(
    databases: ArchiveDatabases,
    objects: readonly ArchiveObject[],
    ring: RingWriter,
    hwm_s: number,
    ensureRoom: () => void,
  ) {
    this.#ensureRoom = ensureRoom
    this.#databases = databases
    this.#objects = objects
    this.#reader = new TierReader(databases.table, chunkLookup(databases), ring, 'stored')
    this.#hwm_s = hwm_s
  }

  /** Writes all closed chunks of a new tier. */
  tier(tier: Tier): StoredTier {
    const { environment, table } = this.#databases
    const source = sourceOf(table, tier, this.#hwm_s)
    const from = table[source]
    if (from === undefined) throw new RangeError(`there is no tier ${source}`)
    const name = unusedName(table, tier.name)
    const database = openChunks(this.#databases, name)
    // An earlier start may have been interrupted here.
    database.clearSync()
    const reaches_s = Math.max(coverageStart(tier, this.#hwm_s), coverageStart(from, this.#hwm_s))
    const writer = new ChunkWriter()
    const chunks = this.#source(source, tier)
    const slice_s = Math.max(SLICE_S, tier.step_s)
    for (let at = floorTo(Math.max(0, reaches_s), slice_s); at < this.#hwm_s; at += slice_s) {
      const end = Math.min(at + slice_s, this.#hwm_s)
      this.#ensureRoom()
      environment.transactionSync(() => writer.storeDue(database, tier, this.#objects, chunks, at, end))
    }
    const { name: label, step_s, rows, points } = tier
    return { name: label, step_s, rows, points, database: name, floor_s: Math.max(0, reaches_s) }
  }

  #source(index: number, tier: Tier): ChunkSource {
    const flushed_s = this.#hwm_s
    return {
      base: (object, start_s, end_s, out) => void this.#reader.readBase(object, start_s, end_s, flushed_s, out),
      coarse: (object, start_s, end_s, out) => {
        out.reset((end_s - start_s) / tier.step_s)
        this.#reader.consolidate(index, tier.step_s, object, start_s, end_s, flushed_s, out, 0)
      },
    }
  }
}

/** Returns this name, or the name with a number, as the name of an unused database. */
function unusedName(table: readonly StoredTier[], name: string): string {
  for (let generation = 0; ; generation++) {
    const candidate = generation === 0 ? name : `${name}.${generation}`
    if (!table.some((tier) => tier.database === candidate)) return candidate
  }
}
