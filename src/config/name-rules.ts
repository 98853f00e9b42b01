import type { Problem } from '../drivers/driver.ts'
import { type ConfigView, SECTION_NAMES, SECTIONS, type SectionName } from '../model/sections.ts'

/**
 * No two records of a section have one name. Drafts see to that; a record that comes back with a reverted apply may have a
 * name that was given again meanwhile.
 */
export function verifyNames(desired: ConfigView): readonly Problem[] {
  return SECTION_NAMES.flatMap((section) => duplicates(desired, section))
}

function duplicates<N extends SectionName>(view: ConfigView, section: N): readonly Problem[] {
  const { label, nameField } = SECTIONS[section]
  const seen = new Set<string>()
  const problems: Problem[] = []
  for (const record of view.list(section)) {
    const name = String(record[nameField])
    const message = `another ${label} is named ${name}; rename or delete one of them`
    if (seen.has(name.toLowerCase())) problems.push({ section, id: record.id, field: nameField, message })
    seen.add(name.toLowerCase())
  }
  return problems
}
