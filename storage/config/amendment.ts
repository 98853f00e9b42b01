import { isDeepStrictEqual } from 'node:util'
import type { RecordKey, StoredRecord } from './config-store.ts'
import type { Mirror } from './mirror.ts'
import type { OverlayEntry } from './store-state.ts'

/** Fields to set; undefined ones are taken away. */
export type Patch = Readonly<Record<string, unknown>>

export interface Amendment {
  readonly running: StoredRecord
  /** What is pending for the record afterwards. */
  readonly overlay: OverlayEntry | undefined
}

/**
 * What a patch makes of a record in running and of what is pending for it: a pending change keeps what it wants itself,
 * of the same fields as well. One that wants the record gone stays.
 */
export function amend(mirror: Mirror, key: RecordKey, patch: Patch, revision: number): Amendment {
  const before = mirror.agreed.get(key.section, key.scope, key.key)
  const pending = mirror.overlayEntry(key)
  const running = { value: applyPatch(before?.value, patch), revision }
  if (pending?.stored === undefined) return { running, overlay: pending }
  const value = applyPatch(pending.stored.value, untouched(patch, before, pending.stored))
  if (isDeepStrictEqual(value, running.value)) return { running, overlay: undefined }
  return { running, overlay: { ...pending, revision, stored: { value, revision } } }
}

/** The fields of a patch that a pending change leaves as they are: for the others the pending value counts. */
function untouched(patch: Patch, before: StoredRecord | undefined, pending: StoredRecord): Patch {
  const of = (record: StoredRecord | undefined, field: string): unknown => Reflect.get(Object(record?.value), field)
  return Object.fromEntries(
    Object.entries(patch).filter(([field]) => isDeepStrictEqual(of(before, field), of(pending, field))),
  )
}

/** The patch that makes one record of the other. */
export function changedFields(before: unknown, after: unknown): Patch {
  const [old, next]: readonly [object, object] = [Object(before), Object(after)]
  const fields = Object.keys({ ...old, ...next }).filter(
    (field) => !isDeepStrictEqual(Reflect.get(old, field), Reflect.get(next, field)),
  )
  return Object.fromEntries(fields.map((field) => [field, Reflect.get(next, field) as unknown]))
}

/** Undefined values are fields to take away. */
export function applyPatch(record: unknown, patch: Patch): object {
  const all: Record<string, unknown> = { ...(record as object | undefined), ...patch }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}
