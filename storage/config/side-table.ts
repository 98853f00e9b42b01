import type { Database } from 'lmdb'
import type { SideTable } from './config-store.ts'
import { queued } from './queued.ts'

/** A table of small records beside the configuration. `write` is one durable transaction about so many records. */
export function sideTable(
  table: Database<unknown, string>,
  write: (records: number, work: () => void) => Promise<void>,
): SideTable {
  const all: SideTable['write'] = (puts, removed) =>
    write(puts.length + removed.length, () => {
      for (const key of removed) queued(table.remove(key))
      for (const { key, value } of puts) queued(table.put(key, value))
    })
  return {
    entries: () => [...table.getRange()].map(({ key, value }) => ({ key, value })),
    put: (key, value) => all([{ key, value }], []),
    remove: (keys) => all([], keys),
    write: all,
  }
}
