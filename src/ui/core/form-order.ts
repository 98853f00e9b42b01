import type { FieldError } from '../../client/refused.ts'
import type { Schema } from './schema.ts'

/** The fields of a form, and which of them are shown at once. */

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

/** Read-only properties are not fields. */
export const namesOf = ({ properties = {} }: Schema): readonly string[] =>
  Object.entries(properties).flatMap(([name, { readOnly }]) => (readOnly === true ? [] : [name]))

/** Returns the fields to show at once, in addition to chosen ones: those that are required or have a value. */
export function begunWith(
  { properties = {}, required = [] }: Schema,
  value: Readonly<Record<string, unknown>>,
): ReadonlySet<string> {
  const says = (name: string) => value[name] !== undefined && !isSame(value[name], properties[name]?.default)
  return new Set([...required, ...Object.keys(properties).filter(says)])
}

/** Returns whether the field, or something within it, was refused. */
export const isBlamed = (path: string, errors: readonly FieldError[]): boolean =>
  errors.some(({ field }) => field === path || field.startsWith(`${path}.`))

/** Sorts the early fields, beginning with those in `first`, and the late ones in the order of the schema. */
export function ordered(names: readonly string[], first: readonly string[], early: ReadonlySet<string>) {
  return {
    early: [
      ...first.filter((name) => names.includes(name)),
      ...names.filter((name) => early.has(name) && !first.includes(name)),
    ],
    late: names.filter((name) => !early.has(name) && !first.includes(name)),
  }
}
