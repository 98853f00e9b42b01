/** MD4 (RFC 1320), the hash of passwords in MS-CHAP. Cryptography libraries have rightly dropped it. */

const BLOCK = 64
const SHIFTS = [
  [3, 7, 11, 19],
  [3, 5, 9, 13],
  [3, 9, 11, 15],
] as const
const ORDERS = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15],
  [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15],
] as const
const CONSTANTS = [0, 0x5a827999, 0x6ed9eba1] as const
const MIXES: readonly ((x: number, y: number, z: number) => number)[] = [
  (x, y, z) => (x & y) | (~x & z),
  (x, y, z) => (x & y) | (x & z) | (y & z),
  (x, y, z) => x ^ y ^ z,
]

const rotated = (value: number, bits: number) => (value << bits) | (value >>> (32 - bits))

function padded(message: Uint8Array): Buffer {
  const length = Math.ceil((message.length + 9) / BLOCK) * BLOCK
  const bytes = Buffer.alloc(length)
  bytes.set(message)
  bytes[message.length] = 0x80
  bytes.writeBigUInt64LE(BigInt(message.length) * 8n, length - 8)
  return bytes
}

export function md4(message: Uint8Array): Buffer {
  const bytes = padded(message)
  let state: readonly [number, number, number, number] = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476]
  for (let at = 0; at < bytes.length; at += BLOCK) {
    let [a, b, c, d] = state
    for (const [round, mix] of MIXES.entries()) {
      for (const [step, word] of (ORDERS[round] ?? []).entries()) {
        const sum = a + mix(b, c, d) + bytes.readUInt32LE(at + word * 4) + (CONSTANTS[round] ?? 0)
        // The registers are rotated instead of the formula.
        ;[a, b, c, d] = [d, rotated(sum | 0, SHIFTS[round]?.[step % 4] ?? 0), b, c]
      }
    }
    state = [(state[0] + a) | 0, (state[1] + b) | 0, (state[2] + c) | 0, (state[3] + d) | 0]
  }
  const digest = Buffer.alloc(16)
  for (const [index, word] of state.entries()) digest.writeInt32LE(word, index * 4)
  return digest
}
