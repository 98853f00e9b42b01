import {
  type ConfigView,
  SECTION_NAMES,
  type SectionContents,
  type SectionName,
  type SectionRecords,
} from '../model/sections.ts'

/** Returns a configuration view of lists of records: absent sections are those of `base`, or empty. */
export function contentsView(contents: SectionContents, base?: ConfigView): ConfigView {
  const sections = new Map<SectionName, { byId: ReadonlyMap<string, unknown>; list: readonly unknown[] }>()
  for (const name of SECTION_NAMES) {
    const byId = new Map((contents[name] ?? base?.list(name) ?? []).map((record) => [record.id, record]))
    sections.set(name, { byId, list: [...byId.values()] })
  }
  // Sound: a section holds what was given for it.
  return {
    get: <N extends SectionName>(name: N, id: string) =>
      sections.get(name)?.byId.get(id) as SectionRecords[N] | undefined,
    list: <N extends SectionName>(name: N) => (sections.get(name)?.list ?? []) as readonly SectionRecords[N][],
  }
}
