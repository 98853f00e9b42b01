/** What two people made of one record, put together field by field. */

export type Values = Readonly<Record<string, unknown>>

export interface Merged {
  readonly value: Values
  /** Fields that both have changed, to something else each. */
  readonly conflicts: readonly { readonly field: string; readonly mine: unknown; readonly theirs: unknown }[]
}

/** A value as a field shows it; '' for none. */
export function shownValue(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

export const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** `base` is what both began with. Where both changed a field, mine stays until somebody chooses. */
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

/** The fields of `after` that are others than in `before`, and those that every change has to name. */
export function changedFields(before: Values, after: Values, required: readonly string[] = []): Values {
  const isSent = ([field, value]: [string, unknown]) => required.includes(field) || !isSame(value, before[field])
  return Object.fromEntries(Object.entries(after).filter(isSent))
}
