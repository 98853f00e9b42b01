import { isDeepStrictEqual } from 'node:util'
import type { RecordKey, StoredRecord } from './config-store.ts'
import type { Mirror, OverlayEntry } from './mirror.ts'

/** Fields to set, or undefined to remove the record. */
export type Patch = Readonly<Record<string, unknown>> | undefined

export interface Amendment {
  readonly running: StoredRecord | undefined
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
  if (patch === undefined) return { running: undefined, overlay: pending?.stored === undefined ? undefined : pending }
  const running = { value: merged(before, patch), revision }
  if (pending?.stored === undefined) return { running, overlay: pending }
  const value = merged(pending.stored, untouched(patch, before, pending.stored))
  if (isDeepStrictEqual(value, running.value)) return { running, overlay: undefined }
  return { running, overlay: { ...pending, revision, stored: { value, revision } } }
}

/** Of a patch, the fields that a pending change leaves as they are: what it wants of the others is what will be. */
function untouched(patch: object, before: StoredRecord | undefined, pending: StoredRecord): object {
  const of = (record: StoredRecord | undefined, field: string): unknown => Reflect.get(Object(record?.value), field)
  return Object.fromEntries(
    Object.entries(patch).filter(([field]) => isDeepStrictEqual(of(before, field), of(pending, field))),
  )
}

/** Undefined values are fields to take away. */
function merged(record: StoredRecord | undefined, patch: object): object {
  const all: Record<string, unknown> = { ...(record?.value as object | undefined), ...patch }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}
