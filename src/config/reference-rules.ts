import type { Problem } from '../drivers/driver.ts'
import { type ConfigView, SECTION_NAMES, SECTIONS, type SectionName } from '../model/sections.ts'

/** References that point nowhere. Drafts keep the candidate whole; applying only a part of it could still break one. */
export function verifyReferences(desired: ConfigView): readonly Problem[] {
  return SECTION_NAMES.flatMap((section) => problemsOf(desired, section))
}

function problemsOf<N extends SectionName>(desired: ConfigView, section: N): readonly Problem[] {
  return [...desired.list(section)].flatMap((record) =>
    SECTIONS[section]
      .references(record)
      .filter((reference) => desired.get(reference.section, reference.id) === undefined)
      .map(({ field, id }) => ({
        section,
        id: record.id,
        field,
        message: `${field} names ${id}, which does not exist`,
      })),
  )
}
