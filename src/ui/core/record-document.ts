/** One record as a document (docs/document.md), which the API makes a plan of. */

/** Sections of a document whose records have a form of their own here, by the resources of operations. */
const SECTIONS: ReadonlySet<string> = new Set(['realServers', 'l7Backends', 'l7Frontends', 'l4Backends', 'l4Frontends'])
/** `l7Frontends.update` changes a record of `l7Frontends`. */
export const sectionOf = (operation: string): string | undefined => {
  const section = operation.slice(0, operation.indexOf('.'))
  return SECTIONS.has(section) ? section : undefined
}

/** What records refer to. */
export const REFERRED = [
  'realServers',
  'l7Backends',
  'l4Backends',
  'healthChecks',
  'certificates',
  'cipherLists',
] as const

/** Ids are unique over all sections, so that whatever is the id of a record stands for its name. */
function withNames(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return names.get(value) ?? value
  if (Array.isArray(value)) return value.map((one) => withNames(one, names))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([field, one]) => [field, withNames(one, names)]))
}

interface Wanted {
  readonly section: string
  /** What it is called so far; undefined for a new one. */
  readonly before: string | undefined
  readonly value: Readonly<Record<string, unknown>>
  readonly names: ReadonlyMap<string, string>
}

export function documentOfRecord({ section, before, value, names }: Wanted) {
  // What is read beside the rest, and is in no document.
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
