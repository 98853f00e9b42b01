import { SECTION_NAMES, SECTIONS, type SectionName } from './sections.ts'

/** Kinds of records that have owners. */
const OWNED: ReadonlySet<SectionName> = new Set(
  SECTION_NAMES.filter((section) => Object.hasOwn(SECTIONS[section].schema.properties, 'owner')),
)

export const isOwned = (section: string): boolean => OWNED.has(section as SectionName)

/** Each is about records of its kind and of nothing else, which it reads and changes where this is looked at. */
const VERBS: ReadonlySet<string> = new Set(['list', 'get', 'create', 'update', 'delete', 'drain', 'halt', 'online'])

/** The kind of records that the right to use the endpoint with this name can be confined to; undefined: none. */
export function confinable(endpoint: string): SectionName | undefined {
  const [section = '', verb = ''] = endpoint.split('.')
  return isOwned(section) && VERBS.has(verb) ? (section as SectionName) : undefined
}
