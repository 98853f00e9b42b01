import { isDeepStrictEqual } from 'node:util'
import type { RecordKey, StoredRecord } from './config-store.ts'
import type { Mirror } from './mirror.ts'
import type { OverlayEntry } from './store-state.ts'

/** Fields to set; undefined ones are removed. */
export type Patch = Readonly<Record<string, unknown>>

export interface Amendment {
  readonly running: StoredRecord
  /** The pending change of the record after the patch. */
  readonly overlay: OverlayEntry | undefined
}

/**
 * Returns a record's running value and pending change after a patch: a pending change keeps its own values, even of the
 * same fields. A pending removal stays.
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

/** Returns the fields of a patch that a pending change does not touch: for the others the pending value counts. */
function untouched(patch: Patch, before: StoredRecord | undefined, pending: StoredRecord): Patch {
  const of = (record: StoredRecord | undefined, field: string): unknown => Reflect.get(Object(record?.value), field)
  return Object.fromEntries(
    Object.entries(patch).filter(([field]) => isDeepStrictEqual(of(before, field), of(pending, field))),
  )
}

/** Returns the patch that turns one record into the other. */
export function changedFields(before: unknown, after: unknown): Patch {
  const [old, next]: readonly [object, object] = [Object(before), Object(after)]
  const fields = Object.keys({ ...old, ...next }).filter(
    (field) => !isDeepStrictEqual(Reflect.get(old, field), Reflect.get(next, field)),
  )
  return Object.fromEntries(fields.map((field) => [field, Reflect.get(next, field) as unknown]))
}

/** Applies a patch; fields with an undefined value are removed. */
export function applyPatch(record: unknown, patch: Patch): object {
  const all: Record<string, unknown> = { ...(record as object | undefined), ...patch }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}
