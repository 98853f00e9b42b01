import type { Change, RecordReader } from '../../storage/config/config-store.ts'
import type { ConfigView, RecordChange, SectionName, SectionRecords } from '../model/sections.ts'

/** Sections that exist today are cluster-wide; settings of one node will carry its id here. */
export const CLUSTER = ''

/**
 * The only place where stored JSON becomes a typed record. Sound because every write went through `Draft`, which
 * checks the section's schema, and `--check` verifies it again.
 */
export function asRecord<N extends SectionName>(_section: N, value: unknown): SectionRecords[N] {
  return value as SectionRecords[N]
}

export function configView(reader: RecordReader): ConfigView {
  return {
    get(section, id) {
      const stored = reader.get(section, CLUSTER, id)
      return stored === undefined ? undefined : asRecord(section, stored.value)
    },
    list(section) {
      return reader.list(section, CLUSTER).map((stored) => asRecord(section, stored.value))
    },
  }
}

/** Running with `changes` applied: stays the same while more is staged. Running itself cannot change during an apply. */
export function frozenView(running: RecordReader, changes: readonly Change[]): ConfigView {
  const frozen = new Map(changes.map((change) => [`${change.section}\0${change.key}`, change]))
  const base = configView(running)
  return {
    get(section, id) {
      const change = frozen.get(`${section}\0${id}`)
      if (change === undefined) return base.get(section, id)
      return change.after === undefined ? undefined : asRecord(section, change.after.value)
    },
    list(section) {
      const records = new Map([...base.list(section)].map((record) => [record.id, record]))
      for (const change of changes) {
        if (change.section !== section) continue
        if (change.after === undefined) records.delete(change.key)
        else records.set(change.key, asRecord(section, change.after.value))
      }
      return [...records.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
    },
  }
}

/** A stored change as drivers see it. */
export function recordChange(change: Change): RecordChange {
  const { section, key: id, before, after } = change
  return { section, id, before: before?.value, after: after?.value } as RecordChange
}
