import { isDeepStrictEqual } from 'node:util'
import { SECTIONS, type SectionName, type SectionRecords } from '../model/sections.ts'

/**
 * The record without fields that say what it means without them, where `known`, which it is a change of, lacks them as
 * well: sent back as it was read, or set and set back, a record is no change.
 */
export function asUnset<N extends SectionName>(
  section: N,
  record: SectionRecords[N],
  known: SectionRecords[N],
): SectionRecords[N] {
  const unset: object = { owner: '', ...SECTIONS[section].unset }
  const isSaid = ([field, value]: readonly [string, unknown]) =>
    field in known || !(field in unset) || !isDeepStrictEqual(value, Reflect.get(unset, field))
  return Object.fromEntries(Object.entries(record).filter(isSaid)) as SectionRecords[N]
}
