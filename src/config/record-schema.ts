import { validatorOf } from '../base/validator.ts'
import { type SectionName, SECTIONS } from '../model/sections.ts'

/** A record that breaks its schema is a defect of a handler, never of the caller. */
export function assertRecord(section: SectionName, record: unknown): void {
  const validator = validatorOf(SECTIONS[section].schema)
  if (validator.Check(record)) return
  const [first] = validator.Errors(record)
  throw new Error(`a ${SECTIONS[section].label} does not match its schema: ${first?.instancePath} ${first?.message}`)
}
