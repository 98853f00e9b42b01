import { removeRange } from '../env.ts'
import { TRIM_GRACE_S, TRIM_KEYS_MIN } from '../limits.ts'
import type { ArchiveDatabases } from './databases.ts'
import { type Gap, gapsBefore, keptFrom, writeGaps } from './gaps.ts'
import { makeKey } from './layout.ts'
import { writeTable } from './tier-table.ts'
import type { Tier } from './tiers.ts'

/** Chunks given up at a time when the disk is full: few, because giving up needs some free pages too. */
const RELIEF_KEYS = 64
/** What that can take: a path of pages for each of them in the worst case. */
export const RELIEF_BYTES = 256 * 1_024

/**
 * Chunks that are removed at a time. Each tier has its turn in as many seconds as there are tiers, and twice what the
 * finest one, of which most expires, gets meanwhile keeps it at its size.
 */
export function trimKeys(table: readonly Tier[], objects: number): number {
  const [base] = table
  return Math.max(TRIM_KEYS_MIN, Math.ceil((2 * table.length * objects) / (base?.points ?? 1)))
}

/** Inside a transaction: removes chunks that lie wholly before what the tier keeps. Answers how many. */
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
 * because what it holds is in the coarser tiers as well. Answers whether there was anything left to give up.
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
 * Inside a transaction: the seconds from `to_s` to `hwm_s` will come again. Answers the gaps that are left.
 */
export function forgetFrom(
  { table, tiers, meta }: ArchiveDatabases,
  hwm_s: number,
  gaps: readonly Gap[],
  to_s: number,
): readonly Gap[] {
  for (const tier of tiers) removeRange(tier, { start: makeKey(to_s + 1, 0) })
  // What was trimmed already does not come back with the time; what is written from now on lies behind no floor.
  for (const tier of table) tier.floor_s = Math.min(to_s, keptFrom(tier, hwm_s, gaps))
  writeTable(meta, table)
  const left = gapsBefore(gaps, to_s)
  writeGaps(meta, left)
  return left
}
