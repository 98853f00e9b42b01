/** No configuration is deeper than this; code that walks deeper JSON would run out of stack. */
export const DEPTH_MAX = 64
/** No configuration has more values than this; each takes a hundred bytes of memory, however short its text. */
export const VALUES_MAX = 2_000_000

const [QUOTE, BACKSLASH, COMMA, COLON, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from('"\\,:[]{}')
const decoder = new TextDecoder('utf-8', { fatal: true })

/** Parses JSON in UTF-8; undefined for invalid text, too deep nesting, or too many values. */
export function parseLimited(raw: Uint8Array): { readonly value: unknown } | undefined {
  return namesWithinLimits(raw) === undefined ? undefined : parsed(raw)
}

/**
 * Like `parseLimited`, and undefined when an object has a duplicate name: people read the first, parsers use the last.
 */
export function parseUnambiguous(raw: Uint8Array): { readonly value: unknown } | undefined {
  const names = namesWithinLimits(raw)
  const whole = names === undefined ? undefined : parsed(raw)
  return whole !== undefined && namesOf(whole.value) === names ? whole : undefined
}

function parsed(raw: Uint8Array): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(decoder.decode(raw)) }
  } catch {
    return undefined
  }
}

/** Counts the field names in the text; undefined when a limit is exceeded. */
function namesWithinLimits(raw: Uint8Array): number | undefined {
  let [depth, values, names] = [0, 0, 0]
  let isText = false
  for (let at = 0; at < raw.length; at++) {
    const byte = raw[at]
    if (isText) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) isText = false
    } else if (byte === QUOTE) isText = true
    else if (byte === COMMA) values++
    else if (byte === COLON) names++
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      values++
      if (++depth > DEPTH_MAX) return undefined
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth--
  }
  return values > VALUES_MAX ? undefined : names
}

function namesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const fields: readonly unknown[] = Object.values(value)
  return fields.reduce<number>((sum, field) => sum + namesOf(field), Array.isArray(value) ? 0 : fields.length)
}
