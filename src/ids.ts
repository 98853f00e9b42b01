import { createHash, randomBytes } from 'node:crypto'

/** Namespace of this project's name-based ids. */
const NAMESPACE = Buffer.from('6f1c4f0a3d5e4b7a9c2d8e1f0a5b6c7d', 'hex')

/** A new record id: an RFC 9562 version 7 UUID (48 bits of Unix milliseconds first), so that ids sort by creation. */
export function newId(now_ms = Date.now()): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(now_ms, 0, 6)
  return hyphenated(bytes, 0x70)
}

/** RFC 9562 version 5 UUID of `name` in the project's namespace: the same everywhere and for ever. */
export function nameBasedId(name: string): string {
  return hyphenated(createHash('sha1').update(NAMESPACE).update(name).digest().subarray(0, 16), 0x50)
}

function hyphenated(bytes: Buffer, version: number): string {
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | version, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
