import { changedIds } from '../base/changed-ids.ts'
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

/** The same in portions, between which others may have their turn: there may be 100,000 references. */
export function* referencesInTurns(desired: ConfigView): Generator<Problem | undefined> {
  for (const section of SECTION_NAMES) {
    for (const found of danglingIn(desired, section)) {
      yield found && problemOf(found)
    }
  }
}

/** The same for one section. */
export function referenceProblems(desired: ConfigView, of: SectionName): readonly Problem[] {
  return danglingOf(desired, of).map(problemOf)
}

function problemOf({ section, id, name, field, refersTo }: Dangling): Problem {
  const [label, missing] = [SECTIONS[section].label, SECTIONS[refersTo.section].label]
  const next = `discard the pending change of this ${label}, or create the ${missing} again`
  const message = `${field} of the ${nameRecord(section, { id, name })} names the ${missing} ${refersTo.id}, which does not exist: ${next}`
  return { section, id, field, message }
}

export function danglingReferences(view: ConfigView): readonly Dangling[] {
  return SECTION_NAMES.flatMap((section) => danglingOf(view, section))
}

const danglingOf = (view: ConfigView, section: SectionName): readonly Dangling[] =>
  [...danglingIn(view, section)].filter((found) => found !== undefined)

/** References that are looked up between two turns. */
const PORTION = 500
/** With more of them it is worth remembering that they all led somewhere. */
const MANY = 100

/** Records whose references all led somewhere, and the lists that they led into. */
const knownWhole = new WeakMap<object, ReadonlyMap<SectionName, readonly { readonly id: string }[]>>()

/** Those that point nowhere, and undefined after each portion. */
function* danglingIn<N extends SectionName>(view: ConfigView, section: N): Generator<Dangling | undefined> {
  const { references, nameField } = SECTIONS[section]
  let looked = 0
  for (const record of view.list(section)) {
    if (isStillWhole(record, view)) continue
    const into = new Set<SectionName>()
    const all = references(record)
    let isWhole = true
    for (const reference of all) {
      if (++looked % PORTION === 0) yield undefined
      const { section: named, orSection = named, id, field } = reference
      into.add(named).add(orSection)
      if (resolveReference(view, reference) !== undefined) continue
      isWhole = false
      yield { section, id: record.id, name: String(record[nameField]), field, refersTo: { section: named, id } }
    }
    if (isWhole && all.length > MANY) remember(record, into, view)
  }
}

/** Whether nothing is gone from the lists that it refers to since that was so. */
function isStillWhole(record: object, view: ConfigView): boolean {
  const lists = knownWhole.get(record)
  if (lists === undefined) return false
  for (const [section, list] of lists)
    if (changedIds(list, view.list(section)).some((id) => view.get(section, id) === undefined)) return false
  remember(record, lists.keys(), view)
  return true
}

function remember(record: object, into: Iterable<SectionName>, view: ConfigView): void {
  knownWhole.set(record, new Map([...into].map((section) => [section, view.list(section)])))
}
