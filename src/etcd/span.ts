/** A key or a value; text is UTF-8. */
export type Bytes = Uint8Array | string

/** A selection of keys: one, those with a prefix, or those from one on (and before another). */
export type Span =
  | { readonly key: Bytes }
  | { readonly prefix: Bytes }
  | { readonly from: Bytes; readonly before?: Bytes }

const LAST_BYTE = 0xff
/** etcd's value for "to the end", and the first possible key. */
const ZERO = Uint8Array.of(0)

export const asBytes = (bytes: Bytes): Uint8Array => (typeof bytes === 'string' ? Buffer.from(bytes) : bytes)

export function base64(bytes: Bytes): string {
  if (typeof bytes === 'string') return Buffer.from(bytes).toString('base64')
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

/** Returns the first key behind all keys with the prefix. */
function behind(prefix: Uint8Array): Uint8Array {
  const at = prefix.findLastIndex((byte) => byte !== LAST_BYTE)
  // The prefix has no other byte: there is no such key, and the span goes to the end.
  if (at === -1) return ZERO
  const end = Uint8Array.from(prefix.subarray(0, at + 1))
  end[at] = (prefix[at] ?? 0) + 1
  return end
}

const orFirst = (key: Uint8Array) => (key.length === 0 ? ZERO : key)

/** Returns the span in the gateway's form. */
export function spanFields(span: Span): { readonly key: string; readonly range_end?: string } {
  if ('key' in span) return { key: base64(span.key) }
  const [from, end] =
    'prefix' in span ? [span.prefix, behind(asBytes(span.prefix))] : [span.from, asBytes(span.before ?? ZERO)]
  return { key: base64(orFirst(asBytes(from))), range_end: base64(end) }
}
