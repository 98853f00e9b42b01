import type { TSchema } from 'typebox'
import type { FieldError } from './errors.ts'

/** Shorter lists are left to the library, which reports all problems of a body at once. */
const LONG = 200

const partOf = (schema: TSchema, name: string): unknown => Reflect.get(schema, name)
const isSchema = (value: unknown): value is TSchema => typeof value === 'object' && value !== null

/** Returns whether a value of this schema may contain lists or records. */
export function holdsLists(schema: TSchema): boolean {
  const { type, anyOf, properties, patternProperties } = schema as Readonly<Record<string, unknown>>
  const inner = [anyOf, properties, patternProperties].flatMap((parts) => Object.values(Object(parts) as object))
  const isOpen = type === 'object' && properties === undefined
  return type === 'array' || isOpen || inner.some((part) => isSchema(part) && holdsLists(part))
}

/**
 * Returns the problems of long lists. The library compares equal entries in quadratic time, before it reports that a
 * list is too long: one body could block everybody for minutes.
 */
export function longListProblems(schema: TSchema, value: unknown, at = ''): readonly FieldError[] {
  const forms = partOf(schema, 'anyOf')
  if (Array.isArray(forms)) {
    for (const form of forms) {
      const problems = isSchema(form) ? longListProblems(form, value, at) : []
      if (problems.length > 0) return problems
    }
    return []
  }
  if (Array.isArray(value)) return ofList(schema, value, at)
  if (typeof value !== 'object' || value === null) return []
  const limit = partOf(schema, 'maxProperties')
  if (typeof limit === 'number' && Object.keys(value).length > Math.max(limit, LONG))
    return [{ field: at, code: 'OUT_OF_RANGE', message: `must not have more than ${limit} entries` }]
  const properties = Object(partOf(schema, 'properties')) as Readonly<Record<string, unknown>>
  // A record has one schema for all members that it does not name.
  const [others] = Object.values(Object(partOf(schema, 'patternProperties')) as object) as readonly unknown[]
  return Object.entries(value).flatMap(([name, inside]) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : others
    return isSchema(property) ? longListProblems(property, inside, at === '' ? name : `${at}.${name}`) : []
  })
}

function ofList(schema: TSchema, list: readonly unknown[], at: string): readonly FieldError[] {
  const [items, limit] = [partOf(schema, 'items'), Number(partOf(schema, 'maxItems') ?? Infinity)]
  if (list.length > Math.max(limit, LONG))
    return [{ field: at, code: 'OUT_OF_RANGE', message: `must not have more than ${limit} items` }]
  if (list.length > LONG && partOf(schema, 'uniqueItems') === true) {
    const different = new Set(list.map((entry) => JSON.stringify(entry)))
    if (different.size < list.length)
      return [{ field: at, code: 'NOT_UNIQUE', message: 'must not have duplicate items' }]
  }
  return isSchema(items) ? list.flatMap((entry, index) => longListProblems(items, entry, `${at}.${index}`)) : []
}
