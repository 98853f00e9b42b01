import { isDeepStrictEqual } from 'node:util'
import type { Write } from '../../storage/config/config-store.ts'
import type { Problem } from '../model/problem.ts'
import { ApiError, type FieldError } from '../base/errors.ts'
import {
  type ConfigView,
  SECTION_NAMES,
  type SectionContents,
  type SectionName,
  type SectionRecords,
} from '../model/sections.ts'
import { nameProblems } from '../rules/names.ts'
import { assertRecord } from './record-schema.ts'
import { referenceProblems } from '../rules/references.ts'
import { turn } from '../base/turns.ts'
import { CLUSTER } from './views.ts'

/** Ten times the size this product is made for; storing far more would block everybody. */
export const RECORDS_MAX = 100_000

function refuseTooMany(contents: SectionContents): void {
  const count = SECTION_NAMES.reduce((sum, section) => sum + (contents[section]?.length ?? 0), 0)
  if (count <= RECORDS_MAX) return
  const message = `contains ${count} records, but at most ${RECORDS_MAX} can be restored`
  throw new ApiError('INVALID_BODY', `The backup ${message}`, {
    errors: [{ field: 'file', code: 'TOO_MANY', message }],
  })
}

/** Yields the writes that make whole sections hold exactly these records; refuses too many. */
export function* replacements(view: ConfigView, contents: SectionContents): Generator<Write, void> {
  refuseTooMany(contents)
  for (const section of SECTION_NAMES) yield* replaced(view, section, contents[section])
}

function* replaced<N extends SectionName>(
  view: ConfigView,
  section: N,
  records: readonly SectionRecords[N][] | undefined,
): Generator<Write, void> {
  if (records === undefined) return
  const gone = new Map([...view.list(section)].map((record) => [record.id, record]))
  for (const value of records) {
    assertRecord(section, value)
    const stays = isDeepStrictEqual(gone.get(value.id), value)
    gone.delete(value.id)
    if (!stays) yield { section, scope: CLUSTER, key: value.id, value }
  }
  for (const key of gone.keys()) yield { section, scope: CLUSTER, key, value: undefined }
}

/** Refuses a configuration with dangling references or shared names. Takes a turn after each section. */
export async function refuseBroken(view: ConfigView): Promise<void> {
  const problems: Problem[] = []
  for (const section of SECTION_NAMES) {
    for (const problem of referenceProblems(view, section)) problems.push(problem)
    await turn()
    for (const problem of nameProblems(view, section)) problems.push(problem)
    await turn()
  }
  if (problems.length === 0) return
  const errors = problems.map(({ section, id, field, message }): FieldError => ({
    field: `${section ?? ''}.${id ?? ''}.${field ?? ''}`,
    code: 'CONFLICT',
    message,
  }))
  const [first] = problems
  throw new ApiError('INVALID_BODY', `The configuration would be inconsistent: ${first?.message}`, { errors })
}
