import { isDeepStrictEqual } from 'node:util'
import type { Write } from '../../storage/config/config-store.ts'
import { ApiError, type FieldError } from '../errors.ts'
import {
  type ConfigView,
  SECTION_NAMES,
  type SectionContents,
  type SectionName,
  type SectionRecords,
} from '../model/sections.ts'
import { verifyNames } from './name-rules.ts'
import { assertRecord } from './record-schema.ts'
import { verifyReferences } from './reference-rules.ts'
import { CLUSTER } from './views.ts'

/** The writes that make whole sections hold exactly these records. */
export function replacements(view: ConfigView, contents: SectionContents): readonly Write[] {
  return SECTION_NAMES.flatMap((section) => replaced(view, section, contents[section]))
}

function replaced<N extends SectionName>(
  view: ConfigView,
  section: N,
  records: readonly SectionRecords[N][] | undefined,
): readonly Write[] {
  if (records === undefined) return []
  const gone = new Map([...view.list(section)].map((record) => [record.id, record]))
  const writes: Write[] = []
  for (const value of records) {
    assertRecord(section, value)
    const stays = isDeepStrictEqual(gone.get(value.id), value)
    gone.delete(value.id)
    if (!stays) writes.push({ section, scope: CLUSTER, key: value.id, value })
  }
  return [...writes, ...[...gone.keys()].map((key) => ({ section, scope: CLUSTER, key, value: undefined }))]
}

/** Refuses a configuration in which references point nowhere or records share a name. */
export function refuseBroken(view: ConfigView): void {
  const problems = [...verifyReferences(view), ...verifyNames(view)]
  if (problems.length === 0) return
  const errors = problems.map(({ section, id, field, message }): FieldError => ({
    field: `${section ?? ''}.${id ?? ''}.${field ?? ''}`,
    code: 'CONFLICT',
    message,
  }))
  const [first] = problems
  throw new ApiError('INVALID_BODY', `The configuration would not be whole: ${first?.message}`, { errors })
}
