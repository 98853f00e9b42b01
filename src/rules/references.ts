import { changedIds } from '../base/changed-ids.ts'
import type { Problem } from '../model/problem.ts'
import { nameRecord } from './names.ts'
import { type ConfigView, type Reference, SECTION_NAMES, SECTIONS, type SectionName } from '../model/sections.ts'

/** Returns the target of a reference; undefined if it is dangling. */
export function resolveReference(view: Pick<ConfigView, 'get'>, { section, orSection, id }: Reference) {
  return view.get(section, id) ?? (orSection === undefined ? undefined : view.get(orSection, id))
}

/** A dangling reference. */
export interface Dangling {
  readonly section: SectionName
  readonly id: string
  /** Name of the referring record. */
  readonly name: string
  readonly field: string
  readonly refersTo: Pick<Reference, 'section' | 'id'>
}

/**
 * Reports dangling references, with a remedy for each. Drafts keep the candidate whole; applying only a part of it, or
 * taking an apply back that pending changes build on, could still break a reference.
 */
export function verifyReferences(desired: ConfigView): readonly Problem[] {
  return SECTION_NAMES.flatMap((section) => referenceProblems(desired, section))
}

/** Does the same in portions, after each of which other work may run: there may be 100,000 references. */
export function* referencesInTurns(desired: ConfigView): Generator<Problem | undefined> {
  for (const section of SECTION_NAMES) {
    for (const found of danglingIn(desired, section)) {
      yield found && problemOf(found)
    }
  }
}

/** Does the same for one section. */
export function referenceProblems(desired: ConfigView, of: SectionName): readonly Problem[] {
  return danglingOf(desired, of).map(problemOf)
}

function problemOf({ section, id, name, field, refersTo }: Dangling): Problem {
  const [label, missing] = [SECTIONS[section].label, SECTIONS[refersTo.section].label]
  const next = `discard the pending change of this ${label}, or create the ${missing} again`
  const message = `${field} of the ${nameRecord(section, { id, name })} refers to the ${missing} ${refersTo.id}, which does not exist: ${next}`
  return { section, id, field, message }
}

export function danglingReferences(view: ConfigView): readonly Dangling[] {
  return SECTION_NAMES.flatMap((section) => danglingOf(view, section))
}

const danglingOf = (view: ConfigView, section: SectionName): readonly Dangling[] =>
  [...danglingIn(view, section)].filter((found) => found !== undefined)

/** Number of references looked up between two turns. */
const PORTION = 500
/** Number of references of a record from which it is worth remembering that none was dangling. */
const MANY = 100

type List = readonly { readonly id: string }[]
/** Records without dangling references, and the lists in which the targets were found. */
const knownWhole = new WeakMap<object, ReadonlyMap<SectionName, List>>()

/** Yields dangling references, and undefined after each portion. */
function* danglingIn<N extends SectionName>(view: ConfigView, section: N): Generator<Dangling | undefined> {
  const { references, nameField } = SECTIONS[section]
  const targets = new Targets(view)
  let looked = 0
  for (const record of view.list(section)) {
    if (targets.stillHaveAllOf(record)) continue
    const all = references(record)
    const into = all.length > MANY ? targets.taken(sectionsOf(all)) : undefined
    let isWhole = true
    for (const reference of all) {
      if (++looked % PORTION === 0) yield undefined
      if (resolveReference(view, reference) !== undefined) continue
      isWhole = false
      const { section: missing, id, field } = reference
      yield { section, id: record.id, name: String(record[nameField]), field, refersTo: { section: missing, id } }
    }
    if (isWhole && into !== undefined) knownWhole.set(record, into)
  }
}

const sectionsOf = (references: readonly Reference[]): ReadonlySet<SectionName> =>
  new Set(references.flatMap(({ section, orSection = section }) => [section, orSection]))

/** The lists of a view that records refer to, each fetched once for all records that are checked together. */
class Targets {
  readonly #view: ConfigView
  readonly #lists = new Map<SectionName, List | undefined>()
  readonly #lost = new Map<List, boolean>()

  constructor(view: ConfigView) {
    this.#view = view
  }

  /** Returns the lists of these sections; undefined if one of them cannot be cached. */
  taken(sections: Iterable<SectionName>): ReadonlyMap<SectionName, List> | undefined {
    const lists = new Map<SectionName, List>()
    for (const section of sections) {
      const list = this.#list(section)
      if (list === undefined) return undefined
      lists.set(section, list)
    }
    return lists
  }

  /** Returns whether the lists with this record's targets have lost no record since. */
  stillHaveAllOf(record: object): boolean {
    const known = knownWhole.get(record)
    const now = known && this.taken(known.keys())
    if (known === undefined || now === undefined) return false
    for (const [section, before] of known) if (this.#hasLost(section, before)) return false
    knownWhole.set(record, now)
    return true
  }

  /** Undefined if the view returns a new list each time: caching those would keep one list per record. */
  #list(section: SectionName): List | undefined {
    if (!this.#lists.has(section)) {
      const list = this.#view.list(section)
      this.#lists.set(section, list === this.#view.list(section) ? list : undefined)
    }
    return this.#lists.get(section)
  }

  #hasLost(section: SectionName, before: List): boolean {
    let hasLost = this.#lost.get(before)
    if (hasLost === undefined) {
      const changed = changedIds(before, this.#list(section) ?? [])
      hasLost = changed.some((id) => this.#view.get(section, id) === undefined)
      this.#lost.set(before, hasLost)
    }
    return hasLost
  }
}
