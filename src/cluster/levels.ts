import type { Entry } from '../../storage/config/entry.ts'
import type { SharedTableName } from '../../storage/config/tables.ts'

/**
 * Nodes of a cluster are updated one after the other. An entry of a kind that is newer than the cluster would stop the
 * nodes that do not know it, so it waits until all do: the last one makes the entry `level` possible.
 */

/** The level of a cluster that was formed before there were levels. */
export const FIRST_LEVEL = 1
/** From which on nodes know what a witness is; before, they would take it for a node. */
export const WITNESS_LEVEL = 3
/** The level of this version: raised by one with each new kind of entry, or table that entries write to. */
export const LEVEL = 5

const SINCE: Partial<Readonly<Record<Entry['op'], number>>> = { takeover: 2 }

/** The level from which on this entry may be written; that of `level` itself is known by then to all. */
export function levelOf({ op, table, puts = [] }: Of): number {
  if (table === 'silences') return 4
  // Earlier versions do not know users that are in no section: such a node would remove their sessions from its own
  // store alone, and could follow the cluster no longer.
  if (table === 'sessions' && puts.some(({ value }) => Object.hasOwn(Object(value), 'introduction'))) return 5
  return SINCE[op] ?? FIRST_LEVEL
}

/** The parts of an entry that decide which versions understand it. */
interface Of extends Pick<Entry, 'op'> {
  readonly table?: SharedTableName
  readonly puts?: readonly { readonly value: unknown }[]
}
