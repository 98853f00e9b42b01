import { SECTION_NAMES, SECTIONS, type SectionName } from './sections.ts'

/** Kinds of records that have owners. */
const OWNED: ReadonlySet<SectionName> = new Set(
  SECTION_NAMES.filter((section) => Object.hasOwn(SECTIONS[section].schema.properties, 'owner')),
)

export const isOwned = (section: string): boolean => OWNED.has(section as SectionName)

/**
 * Verbs of endpoints that only concern records of their kind, and that read and change them where areas are checked.
 */
const VERBS: ReadonlySet<string> = new Set(['list', 'get', 'create', 'update', 'delete', 'drain', 'halt', 'online'])

/** Returns the kind of records to which the right for the named endpoint can be confined; undefined if it cannot. */
export function confinable(endpoint: string): SectionName | undefined {
  const [section = '', verb = ''] = endpoint.split('.')
  return isOwned(section) && VERBS.has(verb) ? (section as SectionName) : undefined
}
