import { coverageStart, makeKey } from './layout.ts'
import type { SealedRows } from './sealed-rows.ts'
import type { Tier } from './tiers.ts'

const META_TIERS = makeKey(0, 3)

/**
 * A tier as this archive stores it: the settings from its creation, its database, and the second since which it is
 * complete.
 */
export interface StoredTier extends Tier {
  readonly database: string
  floor_s: number
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Returns `undefined` in an archive without a table. */
export function readTable(meta: Pick<SealedRows, 'get'>): readonly StoredTier[] | undefined {
  const bytes = meta.get(META_TIERS)
  if (bytes === undefined) return undefined
  const entries: unknown = JSON.parse(decoder.decode(bytes))
  if (!Array.isArray(entries)) throw new Error('the archive has no table of tiers')
  return entries.map(storedTier)
}

function storedTier(entry: unknown): StoredTier {
  const { name, step_s, rows, points, database, floor_s } = Object(entry) as Readonly<Record<string, unknown>>
  if (typeof name !== 'string' || typeof database !== 'string') throw new Error('a tier of the archive has no name')
  return { name, database, step_s: whole(step_s), rows: whole(rows), points: whole(points), floor_s: whole(floor_s) }
}

function whole(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw new Error('a number in the table of tiers is not a whole one')
  }
  return value
}

/** Inside a transaction. */
export function writeTable(meta: Pick<SealedRows, 'putSync'>, table: readonly StoredTier[]): void {
  meta.putSync(META_TIERS, encoder.encode(JSON.stringify(table)))
}

export function newTable(tiers: readonly Tier[]): readonly StoredTier[] {
  return tiers.map((tier) => ({ ...tier, database: tier.name, floor_s: 0 }))
}

/**
 * Returns the stored tier that can become the wanted one: the same buckets in the same chunks. Its retention may
 * change; a longer one claims nothing that was not kept so far.
 */
export function carriedOver(table: readonly StoredTier[], wanted: Tier, hwm_s: number): StoredTier | undefined {
  const same = table.find(({ step_s, points }) => step_s === wanted.step_s && points === wanted.points)
  if (same === undefined) return undefined
  const floor_s = wanted.rows > same.rows ? Math.max(0, coverageStart(same, hwm_s)) : same.floor_s
  return { ...same, name: wanted.name, rows: wanted.rows, floor_s }
}

/**
 * Returns the index of the tier from which a new one is computed: among those whose buckets fit into its own, the one
 * that reaches back furthest.
 */
export function sourceOf(table: readonly StoredTier[], wanted: Tier, hwm_s: number): number {
  let best = 0
  for (const [index, tier] of table.entries()) {
    if (wanted.step_s % tier.step_s !== 0) continue
    if (coverageStart(tier, hwm_s) < coverageStart(table[best] ?? tier, hwm_s)) best = index
  }
  return best
}
