import { Compile, type Validator } from 'typebox/compile'
import { type SectionName, SECTIONS } from '../model/sections.ts'

const validators = new Map<SectionName, Validator>()

/** A record that breaks its own schema is a defect of a handler, never of the caller. */
export function assertRecord(section: SectionName, record: unknown): void {
  let validator = validators.get(section)
  if (validator === undefined) validators.set(section, (validator = Compile(SECTIONS[section].schema)))
  if (validator.Check(record)) return
  const [first] = validator.Errors(record)
  throw new Error(`a ${SECTIONS[section].label} does not fit its schema: ${first?.instancePath} ${first?.message}`)
}
