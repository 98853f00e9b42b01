/** Returns a JSON value in the canonical form for checksums: keys sorted, no spaces. */
export function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  return `{${fieldsOf(value).map(fieldText).join(',')}}`
}

/**
 * Does the same in portions: values down to `depth` are passed on piece by piece, so that no text is as long as the
 * whole.
 */
export function canonicalParts(value: unknown, depth: number, tell: (part: string) => void): void {
  if (depth === 0 || typeof value !== 'object' || value === null) {
    tell(canonical(value))
    return
  }
  if (Array.isArray(value)) {
    tell('[')
    for (const [at, item] of value.entries()) {
      if (at > 0) tell(',')
      canonicalParts(item, depth - 1, tell)
    }
    tell(']')
    return
  }
  tell('{')
  for (const [at, [name, item]] of fieldsOf(value).entries()) {
    tell(`${at > 0 ? ',' : ''}${JSON.stringify(name)}:`)
    canonicalParts(item, depth - 1, tell)
  }
  tell('}')
}

/** Leaves out undefined values, which JSON does not have. */
function fieldsOf(value: object): readonly (readonly [string, unknown])[] {
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  return fields.sort(([a], [b]) => (a < b ? -1 : Number(a > b)))
}

const fieldText = ([name, value]: readonly [string, unknown]): string => `${JSON.stringify(name)}:${canonical(value)}`
