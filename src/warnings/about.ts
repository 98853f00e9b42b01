import type { Warning, WarningCode } from '../model/warning.ts'
import type { SectionName } from '../model/sections.ts'
import { type Named, nameRecord } from '../rules/names.ts'

/** Returns a warning about a record; `says` continues the sentence after the record's kind and name. */
export function about(code: WarningCode, section: SectionName, record: Named, says: string): Warning {
  const { id, name } = record
  return { code, message: `The ${nameRecord(section, record)} ${says}`, resource: section, resourceId: id, name }
}
