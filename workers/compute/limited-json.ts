/** Deeper JSON than this is nobody's configuration; what takes it apart would run out of stack. */
export const DEPTH_MAX = 64
/** Neither is this many values: each takes a hundred bytes of memory, however few it has in the text. */
export const VALUES_MAX = 2_000_000

const [QUOTE, BACKSLASH, COMMA, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from('"\\,[]{}')
const decoder = new TextDecoder('utf-8', { fatal: true })

/** The value of a JSON text in UTF-8; undefined when it is none, nested too deeply, or of too many values. */
export function parseLimited(raw: Uint8Array): { readonly value: unknown } | undefined {
  if (isTooMuch(raw)) return undefined
  try {
    return { value: JSON.parse(decoder.decode(raw)) }
  } catch {
    return undefined
  }
}

function isTooMuch(raw: Uint8Array): boolean {
  let depth = 0
  let values = 0
  let isText = false
  for (let at = 0; at < raw.length; at++) {
    const byte = raw[at]
    if (isText) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) isText = false
    } else if (byte === QUOTE) isText = true
    else if (byte === COMMA) values++
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      values++
      if (++depth > DEPTH_MAX) return true
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth--
  }
  return values > VALUES_MAX
}
