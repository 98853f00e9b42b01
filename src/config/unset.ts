import { isDeepStrictEqual } from 'node:util'
import { SECTIONS, type SectionName, type SectionRecords } from '../model/sections.ts'

/**
 * Returns the record without fields that hold their default value and that `known`, its earlier form, lacks too: a
 * record that is sent back as it was read, or set and reset, is no change.
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
