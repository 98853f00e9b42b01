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
 * What a patch makes of a record in running and of what is pending for it: a pending change keeps everything else that it
 * wants. One that wants the record gone stays.
 */
export function amended(mirror: Mirror, key: RecordKey, patch: Patch, revision: number): Amendment {
  const before = mirror.running.get(key.section, key.scope, key.key)
  const pending = mirror.overlayEntry(key)
  if (patch === undefined) return { running: undefined, overlay: pending?.stored === undefined ? undefined : pending }
  const running = { value: merged(before, patch), revision }
  if (pending?.stored === undefined) return { running, overlay: pending }
  const value = merged(pending.stored, patch)
  if (isDeepStrictEqual(value, running.value)) return { running, overlay: undefined }
  return { running, overlay: { ...pending, revision, stored: { value, revision } } }
}

/** Undefined values are fields to take away. */
function merged(record: StoredRecord | undefined, patch: object): object {
  const all: Record<string, unknown> = { ...(record?.value as object | undefined), ...patch }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}
