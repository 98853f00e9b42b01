/** What etcd's JSON gateway says, read field by field. It leaves out what is 0, empty or false. */
export type Fields = Readonly<Record<string, unknown>>

/** The answer is not in the words of etcd. */
export class UnreadableError extends Error {}

export function fieldsOf(value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw new UnreadableError('its answer is not an object')
}

/** The object under this name, empty when it is left out. */
export const part = (fields: Fields, name: string): Fields => fieldsOf(fields[name] ?? {})

export function listOf(fields: Fields, name: string): readonly Fields[] {
  const value = fields[name] ?? []
  if (Array.isArray(value)) return value.map(fieldsOf)
  throw new UnreadableError(`its ${name} is not a list`)
}

/** A revision, a count or a size. Of 64 bits, so it is a string in JSON; far below 2^53 in any real life. */
export function numberOf(fields: Fields, name: string): number {
  const value = fields[name] ?? 0
  const number = typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value
  if (typeof number === 'number' && Number.isSafeInteger(number)) return number
  throw new UnreadableError(`its ${name} is not a number that can be counted with`)
}

/** A member or a lease: 64 bits, all of which are used, so it stays a string. '0' is none. */
export function idOf(fields: Fields, name: string): string {
  const value = fields[name] ?? '0'
  if (typeof value === 'string' && /^-?\d+$/.test(value)) return value
  throw new UnreadableError(`its ${name} is not an id`)
}

export function textOf(fields: Fields, name: string): string {
  const value = fields[name] ?? ''
  if (typeof value === 'string') return value
  throw new UnreadableError(`its ${name} is not text`)
}

export function textsOf(fields: Fields, name: string): readonly string[] {
  const value = fields[name] ?? []
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value
  throw new UnreadableError(`its ${name} is not a list of texts`)
}

export const isSet = (fields: Fields, name: string): boolean => fields[name] === true

export const bytesOf = (fields: Fields, name: string): Uint8Array => Buffer.from(textOf(fields, name), 'base64')

/** The revision of the store when the answer was made. */
export const headerRevision = (fields: Fields): number => numberOf(part(fields, 'header'), 'revision')

/** Reads an answer of which only matters that it came. */
export const NOTHING = (_fields: Fields): void => undefined
