import type { Problem } from '../drivers/driver.ts'
import { type ConfigView, SECTION_NAMES, SECTIONS, type SectionName } from '../model/sections.ts'

/** One reference that points nowhere. */
export interface Dangling {
  readonly section: SectionName
  readonly id: string
  /** Of the record that refers, as people know it. */
  readonly name: string
  readonly field: string
  readonly refersTo: string
}

/** References that point nowhere. Drafts keep the candidate whole; applying only a part of it could still break one. */
export function verifyReferences(desired: ConfigView): readonly Problem[] {
  return danglingReferences(desired).map(({ section, id, field, refersTo }) => ({
    section,
    id,
    field,
    message: `${field} names ${refersTo}, which does not exist`,
  }))
}

export function danglingReferences(view: ConfigView): readonly Dangling[] {
  return SECTION_NAMES.flatMap((section) => danglingOf(view, section))
}

function danglingOf<N extends SectionName>(view: ConfigView, section: N): readonly Dangling[] {
  const { references, nameField } = SECTIONS[section]
  const found: Dangling[] = []
  for (const record of view.list(section)) {
    for (const reference of references(record)) {
      if (view.get(reference.section, reference.id) !== undefined) continue
      found.push({
        section,
        id: record.id,
        name: String(record[nameField]),
        field: reference.field,
        refersTo: reference.id,
      })
    }
  }
  return found
}
