import { type CheckedTable, DamagedRowError, type RowWrite } from './checked-table.ts'
import type { SideTable } from './config-store.ts'

/**
 * A table of small records beside the configuration. `commit` is one durable transaction. A damaged record is left out
 * and reported: the daemon can start without one session or event.
 */
export function sideTable(
  table: CheckedTable<unknown>,
  commit: (rows: readonly RowWrite[]) => Promise<void>,
  tell: (problem: string) => void,
): SideTable {
  const write: SideTable['write'] = (puts, removed) =>
    commit([...removed.map((key) => table.remove(key)), ...puts.map(({ key, value }) => table.put(key, value))])
  return {
    entries: () =>
      [...table.survey()].flatMap((row) => {
        if ('value' in row) return [row]
        tell(new DamagedRowError(table.name, row.key).message)
        return []
      }),
    put: (key, value) => write([{ key, value }], []),
    remove: (keys) => write([], keys),
    write,
  }
}
