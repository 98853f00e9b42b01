import {
  type ConfigView,
  SECTION_NAMES,
  type SectionContents,
  type SectionName,
  type SectionRecords,
} from '../src/model/sections.ts'

export type { SectionContents as Records }

/** A whole configuration from lists of records. */
export function viewOf(records: SectionContents): ConfigView {
  const sections = new Map<SectionName, ReadonlyMap<string, unknown>>(
    SECTION_NAMES.map((name) => [name, new Map((records[name] ?? []).map((record) => [record.id, record]))]),
  )
  // Sound: a section holds what `records` gave for it.
  const of = <N extends SectionName>(section: N) => sections.get(section) as ReadonlyMap<string, SectionRecords[N]>
  return {
    get: (section, id) => of(section).get(id),
    list: (section) => of(section).values(),
  }
}
