import type { Problem } from '../model/problem.ts'
import { type ConfigView, SECTION_NAMES, SECTIONS, type SectionName } from '../model/sections.ts'
import { nameKey } from '../base/name-key.ts'

export interface Named {
  readonly id: string
  readonly name: string
}

/** A record by its kind and name, with its id beside them; settings have no name but their id. */
export function nameRecord(section: SectionName, { id, name }: Named): string {
  const { label, nameField } = SECTIONS[section]
  return nameField === 'id' ? `${label} ${id}` : `${label} ${name} (${id})`
}

/** The same of records in use. */
export const nameUsers = (usage: readonly (Named & { readonly resource: string })[]): string =>
  usage
    .map(({ resource, ...record }) => {
      const section = SECTION_NAMES.find((known) => known === resource)
      return section === undefined ? record.name : nameRecord(section, record)
    })
    .join(', ')

/**
 * No two records of a section have one name. Drafts see to that; a record that comes back with a reverted apply may
 * have a name that was given again meanwhile.
 */
export function verifyNames(desired: ConfigView): readonly Problem[] {
  return SECTION_NAMES.flatMap((section) => nameProblems(desired, section))
}

/** The same; at an undefined in between, others may have their turn. */
export function* namesInTurns(desired: ConfigView): Generator<Problem | undefined> {
  for (const section of SECTION_NAMES)
    for (const shared of sharedIn(desired, section)) yield shared && problemOf(section, shared)
}

/** The same for one section. */
export const nameProblems = (view: ConfigView, section: SectionName): readonly Problem[] =>
  sharedNames(view, section).map((shared) => problemOf(section, shared))

function problemOf(section: SectionName, { id, name }: Named): Problem {
  const { label, nameField } = SECTIONS[section]
  const message = `another ${label} than ${id} is named ${name}; rename or delete one of them`
  return { section, id, field: nameField, message }
}

/** The records whose name, whatever its case, one before them has. */
export const sharedNames = (view: ConfigView, section: SectionName): readonly Named[] =>
  [...sharedIn(view, section)].filter((shared) => shared !== undefined)

/** Records that are looked at between two turns. */
const PORTION = 500

function* sharedIn<N extends SectionName>(view: ConfigView, section: N): Generator<Named | undefined> {
  const { nameField } = SECTIONS[section]
  const seen = new Set<string>()
  for (const record of view.list(section)) {
    const name = String(record[nameField])
    const known = nameKey(name)
    if (seen.has(known)) yield { id: record.id, name }
    seen.add(known)
    if (seen.size % PORTION === 0) yield undefined
  }
}
