import type { Problem } from '../model/problem.ts'
import { nameRecord } from './names.ts'
import { type ConfigView, type Reference, SECTION_NAMES, SECTIONS, type SectionName } from '../model/sections.ts'

/** What a reference names; undefined when it points nowhere. */
export function resolveReference(view: Pick<ConfigView, 'get'>, { section, orSection, id }: Reference) {
  return view.get(section, id) ?? (orSection === undefined ? undefined : view.get(orSection, id))
}

/** One reference that points nowhere. */
export interface Dangling {
  readonly section: SectionName
  readonly id: string
  /** Of the record that refers, as people know it. */
  readonly name: string
  readonly field: string
  readonly refersTo: Pick<Reference, 'section' | 'id'>
}

/**
 * References that point nowhere, with what to do about each. Drafts keep the candidate whole; applying only a part of
 * it, or taking an apply back that pending changes build on, could still break one.
 */
export function verifyReferences(desired: ConfigView): readonly Problem[] {
  return SECTION_NAMES.flatMap((section) => referenceProblems(desired, section))
}

/** The same for one section. */
export function referenceProblems(desired: ConfigView, of: SectionName): readonly Problem[] {
  return danglingOf(desired, of).map(({ section, id, name, field, refersTo }) => {
    const [label, missing] = [SECTIONS[section].label, SECTIONS[refersTo.section].label]
    const next = `discard the pending change of this ${label}, or create the ${missing} again`
    const message = `${field} of the ${nameRecord(section, { id, name })} names the ${missing} ${refersTo.id}, which does not exist: ${next}`
    return { section, id, field, message }
  })
}

export function danglingReferences(view: ConfigView): readonly Dangling[] {
  return SECTION_NAMES.flatMap((section) => danglingOf(view, section))
}

function danglingOf<N extends SectionName>(view: ConfigView, section: N): readonly Dangling[] {
  const { references, nameField } = SECTIONS[section]
  const found: Dangling[] = []
  for (const record of view.list(section)) {
    for (const reference of references(record)) {
      if (resolveReference(view, reference) !== undefined) continue
      found.push({
        section,
        id: record.id,
        name: String(record[nameField]),
        field: reference.field,
        refersTo: { section: reference.section, id: reference.id },
      })
    }
  }
  return found
}
