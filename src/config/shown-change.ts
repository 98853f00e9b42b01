import { isDeepStrictEqual } from 'node:util'
import type { ShownChange } from '../api/context.ts'
import { type RecordChange, type SectionName, SECTIONS } from '../model/sections.ts'

const MASK = '**'

/** A record as people may see it. */
function shown(section: SectionName, record: object | undefined): Readonly<Record<string, unknown>> | null {
  if (record === undefined) return null
  const secrets: readonly string[] = SECTIONS[section].secrets
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, secrets.includes(key) ? MASK : value]))
}

/** Keeps the fields in which two records differ; a secret that changed differs although both sides read `**`. */
function differing(change: RecordChange): Pick<ShownChange, 'before' | 'after'> {
  const before = shown(change.section, change.before)
  const after = shown(change.section, change.after)
  if (change.before === undefined || change.after === undefined) return { before, after }
  const [old, next]: readonly object[] = [change.before, change.after]
  const changed = Object.keys({ ...old, ...next }).filter(
    (key) => !isDeepStrictEqual(field(old, key), field(next, key)),
  )
  const pick = (record: typeof before) => Object.fromEntries(changed.map((key) => [key, record?.[key] ?? null]))
  return { before: pick(before), after: pick(after) }
}

const field = (record: object | undefined, key: string): unknown => record && Reflect.get(record, key)

function operation(change: RecordChange): ShownChange['op'] {
  if (change.before === undefined) return 'create'
  return change.after === undefined ? 'delete' : 'update'
}

/** A change of one record as people may see it. */
export function shownChange(change: RecordChange): ShownChange {
  const record: object | undefined = change.after ?? change.before
  return {
    op: operation(change),
    resource: change.section,
    resourceId: change.id,
    name: record === undefined ? '' : String(Reflect.get(record, SECTIONS[change.section].nameField)),
    ...differing(change),
  }
}
