/** An answer of etcd's JSON gateway, read field by field. The gateway leaves out fields that are 0, empty or false. */
export type Fields = Readonly<Record<string, unknown>>

/** The answer is not in etcd's format. */
export class UnreadableError extends Error {}

export function fieldsOf(value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw new UnreadableError('its answer is not an object')
}

/** Returns the object under this name, empty when it is absent. */
export const part = (fields: Fields, name: string): Fields => fieldsOf(fields[name] ?? {})

export function listOf(fields: Fields, name: string): readonly Fields[] {
  const value = fields[name] ?? []
  if (Array.isArray(value)) return value.map(fieldsOf)
  throw new UnreadableError(`its ${name} is not a list`)
}

/**
 * Returns a revision, a count or a size. These have 64 bits, so JSON has them as strings; in practice they are far
 * below 2^53.
 */
export function numberOf(fields: Fields, name: string): number {
  const value = fields[name] ?? 0
  const number = typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value
  if (typeof number === 'number' && Number.isSafeInteger(number)) return number
  throw new UnreadableError(`its ${name} is not a valid number`)
}

/** Returns the id of a member or a lease: all 64 bits are used, so it stays a string. '0' means none. */
export function idOf(fields: Fields, name: string): string {
  const value = fields[name] ?? '0'
  if (typeof value === 'string' && /^-?\d+$/.test(value)) return value
  throw new UnreadableError(`its ${name} is not an id`)
}

export function textOf(fields: Fields, name: string): string {
  const value = fields[name] ?? ''
  if (typeof value === 'string') return value
  throw new UnreadableError(`its ${name} is not a string`)
}

export function textsOf(fields: Fields, name: string): readonly string[] {
  const value = fields[name] ?? []
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value
  throw new UnreadableError(`its ${name} is not a list of strings`)
}

export const isSet = (fields: Fields, name: string): boolean => fields[name] === true

export const bytesOf = (fields: Fields, name: string): Uint8Array => Buffer.from(textOf(fields, name), 'base64')

/** Returns the revision of the store at the time of the answer. */
export const headerRevision = (fields: Fields): number => numberOf(part(fields, 'header'), 'revision')

/** Reads an answer without content: only its arrival matters. */
export const NOTHING = (_fields: Fields): void => undefined
