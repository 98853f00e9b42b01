/**
 * Joins parts, each after its length in four bytes, so that they cannot be confused: for data that is authenticated as
 * a whole.
 */
export function lengthPrefixed(parts: readonly (string | Uint8Array)[]): Buffer {
  return Buffer.concat(
    parts.flatMap((part) => {
      const bytes = Buffer.from(part)
      const length = Buffer.alloc(4)
      length.writeUInt32BE(bytes.length)
      return [length, bytes]
    }),
  )
}
