import { createHash, randomBytes } from 'node:crypto'

/** Namespace of this project's name-based ids. */
const NAMESPACE = Buffer.from('6f1c4f0a3d5e4b7a9c2d8e1f0a5b6c7d', 'hex')

let last_ms = 0
let sequence = 0

/**
 * Returns a new record id: an RFC 9562 version 7 UUID with a counter after its milliseconds (§6.2, method 1), so that
 * ids of one process sort by creation even within a millisecond and across a clock that steps back.
 */
export function newId(): string {
  const now_ms = Date.now()
  sequence = now_ms > last_ms ? 0 : sequence + 1
  if (sequence > 0xfff) {
    last_ms += 1
    sequence = 0
  }
  last_ms = Math.max(last_ms, now_ms)
  const bytes = randomBytes(16)
  bytes.writeUIntBE(last_ms, 0, 6)
  bytes.writeUInt16BE(sequence, 6)
  return hyphenated(bytes, 0x70)
}

/** Returns the RFC 9562 version 5 UUID of `name` in the project's namespace: the same everywhere and for ever. */
export function nameBasedId(name: string): string {
  return hyphenated(createHash('sha1').update(NAMESPACE).update(name).digest().subarray(0, 16), 0x50)
}

const ID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
/** Matches every id in a text. */
export const IDS = new RegExp(ID, 'g')
const WHOLE = new RegExp(`^${ID}$`)

export const isId = (text: string): boolean => WHOLE.test(text)
export const isNameBased = (id: string): boolean => isId(id) && id[14] === '5'

function hyphenated(bytes: Buffer, version: number): string {
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | version, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
