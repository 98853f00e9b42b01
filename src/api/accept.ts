/**
 * RFC 9110 §12.4.2: parses a header such as `Accept` into lower-case names with their weights, from 0 (not wanted) to
 * 1.
 */
export function weightsOf(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim())
    if (name !== '') weights.set(name, weightOf(parameters))
  }
  return weights
}

/** Parses `q=0.5`; returns 1 if it is absent, and 0 if it is invalid. */
function weightOf(parameters: readonly string[]): number {
  const text = parameters.find((parameter) => /^q\s*=/.test(parameter))
  if (text === undefined) return 1
  const value = /^q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.exec(text)?.[1]
  return value === undefined ? 0 : Number(value)
}

/** Returns whether the client prefers this form to JSON. A client that does not name it gets JSON. */
export function prefers(type: 'text/csv' | 'text/html', accept: string): boolean {
  if (accept === '' || accept === '*/*') return false
  const weights = weightsOf(accept)
  const wanted = weights.get(type) ?? weights.get('text/*') ?? 0
  const json = weights.get('application/json') ?? weights.get('application/*') ?? 0
  return wanted > 0 && wanted >= json
}
