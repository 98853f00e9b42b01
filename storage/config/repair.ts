import { type CheckedTable, DamagedRowError, type RowKey, type RowWrite } from './checked-table.ts'
import type { Journal, Revision } from './config-store.ts'
import type { StoreKey } from './keys.ts'
import { FROZEN_PREFIX } from './store-state.ts'
import { CALLER_PREFIX, type ConfigTables, SIDE_TABLES } from './tables.ts'

/** How far the edit sequence jumps when it is lost: no number may be given twice. */
const SEQUENCE_JUMP = 1_000_000
/** Maximum number of keys in one sentence. */
const NAMED_MAX = 5

/** The repair of a damaged row. */
interface Mending {
  readonly rows: readonly RowWrite[]
  readonly told: string
}

/** Returns every damaged row of the configuration, as sentences; [] when it is intact. */
export function damageOf(tables: ConfigTables): readonly string[] {
  return tables.all.flatMap((table) => table.damagedKeys().map((key) => new DamagedRowError(table.name, key).message))
}

/**
 * Repairs what can be repaired, in one transaction, and returns what was done about each damaged row. A running record
 * is restored from the newest revision that has it; rows without a copy are removed, and reported as lost.
 */
export function repairConfig(tables: ConfigTables): readonly string[] {
  const { running, candidate, meta, side } = tables
  const kept = tables.revisions.intact()
  const sequence = newestEdit(tables) + SEQUENCE_JUMP
  const mendings = [
    ...running.damagedKeys().map((key) => mendedRecord(tables, key, kept, sequence)),
    ...candidate.damagedKeys().map((key) => taken(candidate, key, 'the pending change is lost')),
    ...tables.revisions.mended(),
    ...mendedMeta(tables, kept),
    ...SIDE_TABLES.flatMap((name) => {
      const keys = side[name].damagedKeys()
      return takenTogether(side[name], keys, keys.length === 1 ? 'it was removed' : 'they were removed')
    }),
  ]
  if (mendings.length > 0) {
    tables.commitNow([...mendings.flatMap(({ rows }) => rows), meta.put('sequence', sequence)])
  }
  return mendings.map(({ told }) => told)
}

function taken<K extends RowKey>(table: CheckedTable<unknown, K>, key: K, outcome: string): Mending {
  return { rows: [table.remove(key)], told: `${new DamagedRowError(table.name, key).message}: ${outcome}` }
}

/** One sentence for all, because there may be thousands. */
function takenTogether(table: CheckedTable<unknown>, keys: readonly string[], outcome: string): readonly Mending[] {
  const [first] = keys
  if (first === undefined) return []
  if (keys.length === 1) return [taken(table, first, outcome)]
  const more = keys.length > NAMED_MAX ? ` and ${keys.length - NAMED_MAX} more` : ''
  const told = `the records ${keys.slice(0, NAMED_MAX).join(', ')}${more} of ${table.name} are damaged: ${outcome}`
  return [{ rows: keys.map((key) => table.remove(key)), told }]
}

function mendedRecord({ running }: ConfigTables, key: StoreKey, kept: readonly Revision[], sequence: number): Mending {
  const [section, scope, id] = key
  const isOf = (change: Revision['changes'][number]) =>
    change.section === section && change.scope === scope && change.key === id
  const known = kept.find(({ changes }) => changes.some(isOf))
  const value = known?.changes.find(isOf)?.after ?? null
  if (known === undefined || value === null) return taken(running, key, 'no revision has it, so it is lost')
  const told = `${new DamagedRowError(running.name, key).message}: it was restored from revision ${known.revision}${section === 'users' ? ', with its password and second factor' : ''}`
  return { rows: [running.put(key, { value, revision: sequence })], told }
}

function mendedMeta(tables: ConfigTables, kept: readonly Revision[]): readonly Mending[] {
  const { meta } = tables
  const made = meta.damagedKeys().map((key) => ({ key, mending: madeAgain(tables, key, kept) }))
  const gone = made.flatMap(({ key, mending }) => (mending === undefined ? [key] : []))
  const losses = [...new Set(gone.map(lossOf))]
  const of = (loss: string) => gone.filter((key) => lossOf(key) === loss)
  return [
    ...made.flatMap(({ mending }) => mending ?? []),
    ...losses.flatMap((loss) => takenTogether(meta, of(loss), loss)),
  ]
}

/** Returns undefined for a row that has no copy. */
function madeAgain({ meta }: ConfigTables, key: string, kept: readonly Revision[]): Mending | undefined {
  const { message } = new DamagedRowError(meta.name, key)
  const revision = kept[0]?.revision ?? 0
  if (key === 'revision') {
    return { rows: [meta.put(key, revision)], told: `${message}: the newest kept revision is ${revision}` }
  }
  // Every repair writes a new value.
  if (key === 'sequence') return { rows: [], told: `${message}: edits are numbered from an unused number on` }
  if (key !== 'journal') return undefined
  // A journal without names of drivers puts the whole machine in doubt, so the next start enforces all of it.
  const journal: Journal = { applyId: 'repair', revision, by: 'fulcrum', at: '', comment: '', steps: [] }
  return {
    rows: [meta.put(key, journal)],
    told: `${message}: the next start applies the whole running configuration to the machine`,
  }
}

/** Describes what is lost with a removed row of `meta`. */
function lossOf(key: string): string {
  if (key.startsWith(CALLER_PREFIX)) return 'the notes of the daemon are lost'
  if (key.startsWith(FROZEN_PREFIX)) return 'changes frozen by running applies are pending again'
  if (key === 'position') return 'in a cluster, the node loads the state of the others again'
  return 'the last apply no longer waits for confirmation'
}

function newestEdit({ running, candidate, meta }: ConfigTables): number {
  let newest = 0
  for (const row of [...running.survey(), ...candidate.survey()]) {
    if ('value' in row) newest = Math.max(newest, row.value.revision)
  }
  for (const row of meta.survey())
    if (row.key === 'sequence' && 'value' in row) newest = Math.max(newest, Number(row.value))
  return newest
}
