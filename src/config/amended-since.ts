import { isDeepStrictEqual } from 'node:util'

/**
 * Returns the record as it was before some revisions, except for amendments made since: a field that differs from what
 * the revisions made of it belongs to the user who changed it. Taking an apply back must not restore an old password.
 */
export function keepingAmendments(before: unknown, made: unknown, now: unknown): unknown {
  if (!isRecord(before) || !isRecord(made) || !isRecord(now)) return before
  const result: Record<string, unknown> = { ...before }
  for (const field of Object.keys({ ...made, ...now })) {
    if (isDeepStrictEqual(made[field], now[field])) continue
    if (now[field] === undefined) delete result[field]
    else result[field] = now[field]
  }
  return result
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
