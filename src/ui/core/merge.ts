/** Merges two users' versions of one record, field by field. */

export type Values = Readonly<Record<string, unknown>>

export interface Merged {
  readonly value: Values
  /** Fields that both have changed to different values. */
  readonly conflicts: readonly { readonly field: string; readonly mine: unknown; readonly theirs: unknown }[]
}

/** Returns a value as a field shows it; '' if there is none. */
export function shownValue(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

export const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** `base` is the common origin. If both have changed a field, mine stays until the user chooses. */
export function merge(base: Values, mine: Values, theirs: Values): Merged {
  const value: Record<string, unknown> = {}
  const conflicts: Merged['conflicts'][number][] = []
  for (const field of new Set([...Object.keys(base), ...Object.keys(mine), ...Object.keys(theirs)])) {
    const [was, my, their] = [base[field], mine[field], theirs[field]]
    const next = isSame(my, was) ? their : my
    if (next !== undefined) value[field] = next
    if (!isSame(my, was) && !isSame(their, was) && !isSame(my, their))
      conflicts.push({ field, mine: my, theirs: their })
  }
  return { value, conflicts }
}

/** Returns the fields of `after` that differ from `before`, and those that every change must name. */
export function changedFields(before: Values, after: Values, required: readonly string[] = []): Values {
  const isSent = ([field, value]: [string, unknown]) => required.includes(field) || !isSame(value, before[field])
  return Object.fromEntries(Object.entries(after).filter(isSent))
}
