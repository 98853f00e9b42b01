import type { FieldError } from '../../client/refused.ts'
import type { Schema } from './schema.ts'

/** Which fields a form has, and which of them it shows at once. */

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

/** What reads tell beside what may be sent is no field. */
export const namesOf = ({ properties = {} }: Schema): readonly string[] =>
  Object.entries(properties).flatMap(([name, { readOnly }]) => (readOnly === true ? [] : [name]))

/** Those that a form begins with: what must be said, what comes first, and what says something by then. */
export function begunWith(
  { properties = {}, required = [] }: Schema,
  value: Readonly<Record<string, unknown>>,
  first: readonly string[],
): ReadonlySet<string> {
  const says = (name: string) => value[name] !== undefined && !isSame(value[name], properties[name]?.default)
  return new Set([...first, ...required, ...Object.keys(properties).filter(says)])
}

/** The field itself, or something within it, is refused. */
export const isBlamed = (path: string, errors: readonly FieldError[]): boolean =>
  errors.some(({ field }) => field === path || field.startsWith(`${path}.`))

/** The early ones with those that `first` names before the others, and the late ones as the schema has them. */
export function ordered(names: readonly string[], first: readonly string[], early: ReadonlySet<string>) {
  return {
    early: [
      ...first.filter((name) => names.includes(name)),
      ...names.filter((name) => early.has(name) && !first.includes(name)),
    ],
    late: names.filter((name) => !early.has(name) && !first.includes(name)),
  }
}
