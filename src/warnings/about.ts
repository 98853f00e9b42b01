import type { Warning, WarningCode } from '../model/warning.ts'
import { type SectionName, SECTIONS } from '../model/sections.ts'

interface Named {
  readonly id: string
  readonly name: string
}

/** A record by its kind and name, with its id beside them. */
export const nameRecord = (section: SectionName, { id, name }: Named): string =>
  `${SECTIONS[section].label} ${name} (${id})`

/** A warning about a record; `says` goes on where its kind and name end. */
export function about(code: WarningCode, section: SectionName, record: Named, says: string): Warning {
  const { id, name } = record
  return { code, message: `The ${nameRecord(section, record)} ${says}`, resource: section, resourceId: id, name }
}
