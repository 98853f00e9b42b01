import { removeRange } from '../env.ts'
import { TRIM_GRACE_S, TRIM_KEYS_MIN } from '../limits.ts'
import type { ArchiveDatabases } from './databases.ts'
import { type Gap, gapsBefore, keptFrom, writeGaps } from './gaps.ts'
import { makeKey } from './layout.ts'
import { writeTable } from './tier-table.ts'
import type { Tier } from './tiers.ts'

/** Chunks removed at a time when the disk is full: few, because removing needs free pages too. */
const RELIEF_KEYS = 64
/** Bytes that this may need: in the worst case a path of pages for each chunk. */
export const RELIEF_BYTES = 256 * 1_024

/**
 * Returns how many chunks to remove at a time. Each tier has its turn every `table.length` seconds; twice what the
 * finest tier, which expires most, receives in that time keeps it at its size.
 */
export function trimKeys(table: readonly Tier[], objects: number): number {
  const [base] = table
  return Math.max(TRIM_KEYS_MIN, Math.ceil((2 * table.length * objects) / (base?.points ?? 1)))
}

/** Inside a transaction: removes chunks that lie wholly before the retention of the tier. Returns how many. */
export function trimTier(
  databases: ArchiveDatabases,
  index: number,
  hwm_s: number,
  gaps: readonly Gap[],
  keys_max: number,
): number {
  const database = databases.tiers[index]
  const tier = databases.table[index]
  if (database === undefined || tier === undefined) return 0
  return removeRange(database, { end: makeKey(keptFrom(tier, hwm_s - TRIM_GRACE_S, gaps) + 1, 0), limit: keys_max })
}

/**
 * Frees room inside the file while the disk is full: the base tier gives up its older half, a few chunks at a time,
 * because the coarser tiers cover it as well. Returns whether anything was left to give up.
 */
export function relieve(databases: ArchiveDatabases, hwm_s: number): boolean {
  const { environment, meta, table } = databases
  const [base] = table
  if (base === undefined) return false
  const before_s = base.floor_s
  let freed = 0
  try {
    base.floor_s = Math.max(before_s, hwm_s - (base.rows * base.step_s) / 2)
    environment.transactionSync(() => {
      freed = trimTier(databases, 0, hwm_s, [], RELIEF_KEYS)
      if (freed > 0) writeTable(meta, table)
    })
  } finally {
    if (freed === 0) base.floor_s = before_s
  }
  return freed > 0
}

/**
 * Inside a transaction: removes the seconds from `to_s` to `hwm_s`, which will come again. Returns the remaining gaps.
 */
export function forgetFrom(
  { table, tiers, meta }: ArchiveDatabases,
  hwm_s: number,
  gaps: readonly Gap[],
  to_s: number,
): readonly Gap[] {
  for (const tier of tiers) removeRange(tier, { start: makeKey(to_s + 1, 0) })
  // Trimmed chunks do not return with the time; new ones must not lie before the floor.
  for (const tier of table) tier.floor_s = Math.min(to_s, keptFrom(tier, hwm_s, gaps))
  writeTable(meta, table)
  const left = gapsBefore(gaps, to_s)
  writeGaps(meta, left)
  return left
}
