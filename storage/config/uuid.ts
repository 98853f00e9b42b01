import { randomFillSync } from 'node:crypto'

const bytes = Buffer.allocUnsafe(16)

/** RFC 9562 version 7 UUID: 48 bits of Unix milliseconds, then random bits, so that keys sort by creation. */
export function uuidv7(now_ms: number): string {
  randomFillSync(bytes)
  bytes.writeUIntBE(now_ms, 0, 6)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
