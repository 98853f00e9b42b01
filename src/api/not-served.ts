import { Type } from 'typebox'
import { ApiError } from '../base/errors.ts'

/** A field of the contract that this version does not serve yet: refused by name unless it asks for nothing. */
export const later = (description: string) =>
  Type.Optional(Type.Unknown({ description: `${description} Not served yet.` }))

function asksForNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

/** Refuses the fields that ask for something, all at once. */
export function refuseUnserved(fields: Readonly<Record<string, unknown>>): void {
  const asked = Object.entries(fields).flatMap(([field, value]) => (asksForNothing(value) ? [] : [field]))
  if (asked.length === 0) return
  throw new ApiError('INVALID_BODY', `This version does not serve ${asked.join(', ')} yet; leave them out`, {
    errors: asked.map((field) => ({ field, code: 'NOT_SERVED_YET', message: 'is not served by this version' })),
  })
}
