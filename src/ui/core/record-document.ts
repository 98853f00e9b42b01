/** One record as a document (docs/document.md), from which the API makes a plan. */

/** Sections whose records have a form in the page, by the resources of operations. */
const SECTIONS: ReadonlySet<string> = new Set(['realServers', 'l7Backends', 'l7Frontends', 'l4Backends', 'l4Frontends'])
/** Returns the section of an operation: `l7Frontends.update` changes a record of `l7Frontends`. */
export const sectionOf = (operation: string): string | undefined => {
  const section = operation.slice(0, operation.indexOf('.'))
  return SECTIONS.has(section) ? section : undefined
}

/** Sections that records refer to. */
export const REFERRED = [
  'realServers',
  'l7Backends',
  'l4Backends',
  'healthChecks',
  'certificates',
  'cipherLists',
] as const

/** Replaces ids by names. Ids are unique over all sections, so any text that is an id can be replaced. */
function withNames(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return names.get(value) ?? value
  if (Array.isArray(value)) return value.map((one) => withNames(one, names))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([field, one]) => [field, withNames(one, names)]))
}

interface Wanted {
  readonly section: string
  /** The present name; undefined for a new record. */
  readonly before: string | undefined
  readonly value: Readonly<Record<string, unknown>>
  readonly names: ReadonlyMap<string, string>
}

export function documentOfRecord({ section, before, value, names }: Wanted) {
  // Fields of an answer that a document does not have.
  const { id: _, health: __, name, owner, ...fields } = value
  const called = String(name)
  const isRenamed = before !== undefined && before !== called
  return {
    version: 1,
    ...(typeof owner === 'string' && owner !== '' ? { owner } : {}),
    ...(isRenamed ? { renamed: { [section]: { [before]: called } } } : {}),
    [section]: { [called]: withNames(fields, names) },
  }
}
