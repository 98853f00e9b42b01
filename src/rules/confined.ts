import type { Where } from '../model/access.ts'
import { SECTIONS, type SectionName, type Touched } from '../model/sections.ts'
import { nameKey } from '../base/name-key.ts'

/** The records to which a right is confined. */
export class Area {
  readonly wheres: readonly Where[]
  readonly #compiled: readonly Compiled[]
  readonly #section: SectionName

  constructor(section: SectionName, wheres: readonly Where[]) {
    this.#section = section
    this.wheres = wheres
    this.#compiled = wheres.map((where) => compiled(where))
  }

  has(record: unknown): boolean {
    const of = (field: string): unknown => Reflect.get(Object(record), field)
    const name = nameKey(String(of(SECTIONS[this.#section].nameField)))
    return this.#compiled.some(
      (where) =>
        // An empty condition, which a backup could contain, matches no record rather than all.
        (where.owner ?? where.ids ?? where.names) !== undefined &&
        (where.owner === undefined || where.owner === of('owner')) &&
        (where.ids === undefined || where.ids.has(of('id'))) &&
        (where.names === undefined || where.names.some((pattern) => isLike(name, pattern))),
    )
  }

  /** Returns whether the record is inside the area both before and after the change. */
  holds({ section, before, after }: Touched): boolean {
    if (section !== this.#section) return false
    const [was, is] = [before ?? undefined, after ?? undefined]
    return (was !== undefined || is !== undefined) && [was, is].every((side) => side === undefined || this.has(side))
  }
}

interface Compiled {
  readonly owner: string | undefined
  readonly ids: ReadonlySet<unknown> | undefined
  /** Patterns in the form in which names are compared, split at the stars. */
  readonly names: readonly (readonly string[])[] | undefined
}

const compiled = ({ owner, ids, names }: Where): Compiled => ({
  owner,
  ids: ids && new Set(ids),
  names: names?.map((pattern) => nameKey(pattern).split('*')),
})

/** Finds each piece after the previous one, which is linear for every pattern; a regular expression might not be. */
function isLike(name: string, pieces: readonly string[]): boolean {
  const [first = '', ...rest] = pieces
  const last = rest.pop()
  if (last === undefined) return name === first
  if (!name.startsWith(first) || !name.endsWith(last)) return false
  let at = first.length
  for (const piece of rest) {
    const found = name.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return at <= name.length - last.length
}
