import {
  type ConfigView,
  SECTION_NAMES,
  type SectionContents,
  type SectionName,
  type SectionRecords,
} from '../model/sections.ts'

/** Lists of records as a configuration: sections that are not given are those of `base`, or empty. */
export function contentsView(contents: SectionContents, base?: ConfigView): ConfigView {
  const byId = new Map<SectionName, ReadonlyMap<string, unknown>>()
  for (const name of SECTION_NAMES) {
    const records = contents[name] ?? (base === undefined ? [] : [...base.list(name)])
    byId.set(name, new Map(records.map((record) => [record.id, record])))
  }
  // Sound: a section holds what was given for it.
  const of = <N extends SectionName>(name: N) => byId.get(name) as ReadonlyMap<string, SectionRecords[N]>
  return { get: (section, id) => of(section).get(id), list: (section) => of(section).values() }
}
