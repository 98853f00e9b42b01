import type { RowWrite } from './checked-table.ts'
import type { RowChanges } from './config-store.ts'
import type { SharedRow } from './store-state.ts'
import { type ConfigTables, SHARED_TABLES, type SharedTableName } from './tables.ts'

type Tell = (changes: RowChanges) => void

/** The tables that nodes share beside the configuration, and the listeners for their changes. */
export class SharedTables {
  readonly #tables: ConfigTables
  readonly #told = new Map<SharedTableName, Tell[]>()

  constructor(tables: ConfigTables) {
    this.#tables = tables
  }

  follow(table: SharedTableName, tell: Tell): void {
    this.#told.set(table, [...(this.#told.get(table) ?? []), tell])
  }

  tell(table: SharedTableName, changes: RowChanges): void {
    for (const tell of this.#told.get(table) ?? []) tell(changes)
  }

  rowsOf(table: SharedTableName, { puts, removed }: RowChanges): readonly RowWrite[] {
    const rows = this.#tables.side[table]
    return [...removed.map((key) => rows.remove(key)), ...puts.map(({ key, value }) => rows.put(key, value))]
  }

  keysOf(table: SharedTableName): readonly string[] {
    return [...this.#tables.side[table].keys()]
  }

  /** Damaged rows are left out, because the other nodes have them. */
  all(): readonly SharedRow[] {
    return SHARED_TABLES.flatMap((table) =>
      [...this.#tables.side[table].survey()].flatMap((row) =>
        'value' in row ? [{ table, key: row.key, value: row.value }] : [],
      ),
    )
  }

  /** Returns the changes that turn the tables into those of another store. */
  replacing(wanted: readonly SharedRow[]): readonly (RowChanges & { readonly table: SharedTableName })[] {
    return SHARED_TABLES.map((table) => {
      const puts = wanted.filter((row) => row.table === table).map(({ key, value }) => ({ key, value }))
      const kept = new Set(puts.map(({ key }) => key))
      return { table, puts, removed: this.keysOf(table).filter((key) => !kept.has(key)) }
    })
  }
}
