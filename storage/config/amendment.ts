import { isDeepStrictEqual } from 'node:util'
import type { RecordKey, StoredRecord } from './config-store.ts'
import type { Mirror, OverlayEntry } from './mirror.ts'

/** Fields to set; undefined ones are taken away. */
export type Patch = Readonly<Record<string, unknown>>

export interface Amendment {
  readonly running: StoredRecord
  /** What is pending for the record afterwards. */
  readonly overlay: OverlayEntry | undefined
}

/**
 * What a patch makes of a record in running and of what is pending for it: a pending change keeps what it wants itself, of
 * the same fields as well. One that wants the record gone stays.
 */
export function amended(mirror: Mirror, key: RecordKey, patch: Patch, revision: number): Amendment {
  const before = mirror.running.get(key.section, key.scope, key.key)
  const pending = mirror.overlayEntry(key)
  const running = { value: patched(before?.value, patch), revision }
  if (pending?.stored === undefined) return { running, overlay: pending }
  const value = patched(pending.stored.value, untouched(patch, before, pending.stored))
  if (isDeepStrictEqual(value, running.value)) return { running, overlay: undefined }
  return { running, overlay: { ...pending, revision, stored: { value, revision } } }
}

/** Of a patch, the fields that a pending change leaves as they are: what it wants of the others is what will be. */
function untouched(patch: Patch, before: StoredRecord | undefined, pending: StoredRecord): Patch {
  const of = (record: StoredRecord | undefined, field: string): unknown => Reflect.get(Object(record?.value), field)
  return Object.fromEntries(
    Object.entries(patch).filter(([field]) => isDeepStrictEqual(of(before, field), of(pending, field))),
  )
}

/** Undefined values are fields to take away. */
export function patched(record: unknown, patch: Patch): object {
  const all: Record<string, unknown> = { ...(record as object | undefined), ...patch }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}
