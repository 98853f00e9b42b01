import type { SectionEditor } from '../context/sections.ts'
import { ApiError } from '../base/errors.ts'
import { type SectionName, type SectionRecords, SECTIONS } from '../model/sections.ts'
import type { Area } from '../rules/confined.ts'
import { nameRecord } from '../rules/names.ts'
import type { May } from './needed-rights.ts'

/** Confines an endpoint to the records of one section that the caller's area holds. */
interface Confinement<N extends SectionName> {
  readonly section: N
  readonly area: Area
  readonly may: May
}

/** Confines reading: records outside the area do not exist. */
export const seenInside = <N extends SectionName>(
  editor: SectionEditor<N>,
  { section, area }: Confinement<N>,
): SectionEditor<N> => {
  const inside = (id: string) => {
    const record = editor.find(id)
    return record !== undefined && area.has(record) ? record : undefined
  }
  return {
    ...editor,
    find: inside,
    get: (id) => (inside(id) === undefined ? refuseMissing(section, id) : editor.get(id)),
    settings: (id) => (inside(id) === undefined ? undefined : editor.settings(id)),
    list: () => editor.list().filter((record) => area.has(record)),
  }
}

/**
 * Confines editing: refuses a record outside the area before the handler can reveal anything about it. Lists stay
 * whole, because the records of a kind have to be consistent with each other. `refuseForeign` judges the resulting
 * edits, whatever this lets through.
 */
export const changedInside = <N extends SectionName>(
  editor: SectionEditor<N>,
  confinement: Confinement<N>,
): SectionEditor<N> => {
  const { section, area } = confinement
  const assertInside = (record: SectionRecords[N] | undefined) => {
    if (record !== undefined && !area.has(record)) refuseOutside(confinement, record)
  }
  const checked = <T extends { readonly id: string } | string>(named: T): T => {
    assertInside(editor.find(typeof named === 'string' ? named : named.id))
    return named
  }
  return {
    ...editor,
    get: (id) => editor.get(checked(id)),
    create: (record) => {
      if (!area.has(record)) throw new ApiError('PERMISSION_DENIED', outside(section, record))
      editor.create(record)
    },
    put: (record, without) => editor.put(checked(record), without),
    merge: (id, patch) => editor.merge(checked(id), patch),
    refuseInUse: (id) => editor.refuseInUse(checked(id)),
    remove: (id) => editor.remove(checked(id)),
  }
}

function refuseOutside<N extends SectionName>({ section, may }: Confinement<N>, record: SectionRecords[N]): never {
  const touched = { section, before: undefined, after: record }
  // A caller that may not read the record must not learn that it exists.
  if (!may(`${section}.get`, touched) && !may(`${section}.list`, touched)) refuseMissing(section, record.id)
  throw new ApiError('PERMISSION_DENIED', outside(section, record))
}

function outside<N extends SectionName>(section: N, record: SectionRecords[N]): string {
  const name = String(record[SECTIONS[section].nameField])
  const named = nameRecord(section, { id: record.id, name })
  return `Your roles grant this for some records only, but not for the ${named}: see GET /localUsers/me`
}

function refuseMissing(section: SectionName, id: string): never {
  throw new ApiError('NOT_FOUND', `There is no ${SECTIONS[section].label} with id ${id}`)
}
