import type { Problem } from '../model/problem.ts'
import { type ConfigView, SECTION_NAMES, SECTIONS, type SectionName } from '../model/sections.ts'
import { nameKey } from '../base/name-key.ts'

export interface Named {
  readonly id: string
  readonly name: string
}

/** Describes a record by its kind and name, with its id; settings have no name but their id. */
export function nameRecord(section: SectionName, { id, name }: Named): string {
  const { label, nameField } = SECTIONS[section]
  return nameField === 'id' ? `${label} ${id}` : `${label} ${name} (${id})`
}

/** Describes records in use. */
export const nameUsers = (usage: readonly (Named & { readonly resource: string })[]): string =>
  usage
    .map(({ resource, ...record }) => {
      const section = SECTION_NAMES.find((known) => known === resource)
      return section === undefined ? record.name : nameRecord(section, record)
    })
    .join(', ')

/**
 * Reports records of a section that share a name. Drafts prevent that; but a record that returns with a reverted apply
 * may find its name taken.
 */
export function verifyNames(desired: ConfigView): readonly Problem[] {
  return SECTION_NAMES.flatMap((section) => nameProblems(desired, section))
}

/** Does the same in turns: where it yields undefined, other work may run. */
export function* namesInTurns(desired: ConfigView): Generator<Problem | undefined> {
  for (const section of SECTION_NAMES)
    for (const shared of sharedIn(desired, section)) yield shared && problemOf(section, shared)
}

/** Does the same for one section. */
export const nameProblems = (view: ConfigView, section: SectionName): readonly Problem[] =>
  sharedNames(view, section).map((shared) => problemOf(section, shared))

function problemOf(section: SectionName, { id, name }: Named): Problem {
  const { label, nameField } = SECTIONS[section]
  const message = `another ${label} than ${id} is also named ${name}; rename or delete one of them`
  return { section, id, field: nameField, message }
}

/** Returns the records that have the name of an earlier one, ignoring case. */
export const sharedNames = (view: ConfigView, section: SectionName): readonly Named[] =>
  [...sharedIn(view, section)].filter((shared) => shared !== undefined)

/** Number of records checked between two turns. */
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
