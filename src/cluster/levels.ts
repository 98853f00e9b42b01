import type { Entry } from '../../storage/config/entry.ts'
import type { SharedTableName } from '../../storage/config/tables.ts'

/**
 * Nodes of a cluster are updated one after the other. A kind of entry that is newer than the cluster would stop the
 * nodes that do not know it, so it is not written until all do: the last update makes the entry `level` possible.
 */

/** The level of a cluster that was formed before there were levels. */
export const FIRST_LEVEL = 1
/** The first level at which nodes know the witness; earlier ones would take it for a node. */
export const WITNESS_LEVEL = 3
/** The level of this version: raised by one with each new kind of entry, or table that entries write to. */
export const LEVEL = 5

const SINCE: Partial<Readonly<Record<Entry['op'], number>>> = { takeover: 2 }

/** Returns the first level at which this entry may be written; all nodes know the entry `level` itself by then. */
export function levelOf({ op, table, puts = [] }: Of): number {
  if (table === 'silences') return 4
  // Earlier versions do not know users that are in no section: such a node would remove their sessions from its own
  // store only, and could no longer follow the cluster.
  if (table === 'sessions' && puts.some(({ value }) => Object.hasOwn(Object(value), 'introduction'))) return 5
  return SINCE[op] ?? FIRST_LEVEL
}

/** The parts of an entry that decide which versions understand it. */
interface Of extends Pick<Entry, 'op'> {
  readonly table?: SharedTableName
  readonly puts?: readonly { readonly value: unknown }[]
}
