import { createCipheriv, createHash } from 'node:crypto'
import { md4 } from './md4.ts'

/** MS-CHAP version 2 by RFC 2759, section 8; function names are those of the RFC. */

const SERVER_SIGNING = 'Magic server to client signing constant'
const PAD_TO_MAKE_IT_DO_MORE = 'Pad to make it do more than one iteration'
const DES_KEY_LENGTH = 7
const HASH_LENGTH = 16

const sha1 = (...parts: readonly (string | Uint8Array)[]) => {
  const hash = createHash('sha1')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

/** Returns the name without the domain before it. */
const userOf = (name: string) => name.slice(name.lastIndexOf('\\') + 1)

export const challengeHash = (peerChallenge: Uint8Array, challenge: Uint8Array, name: string): Uint8Array =>
  sha1(peerChallenge, challenge, userOf(name)).subarray(0, 8)

export const ntPasswordHash = (password: string): Buffer => md4(Buffer.from(password, 'utf16le'))

/** Each byte of a DES key holds 7 bits of the key, and an unused one. */
function desKey(bits: Uint8Array): Buffer {
  const whole = bits.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
  return Buffer.from(Array.from({ length: 8 }, (_, index) => Number((whole >> BigInt(49 - 7 * index)) & 127n) << 1))
}

/** Encrypts with DES. Libraries have dropped single DES; triple DES with three equal keys is the same. */
function desEncrypt(clear: Uint8Array, bits: Uint8Array): Buffer {
  const key = desKey(bits)
  const cipher = createCipheriv('des-ede3-ecb', Buffer.concat([key, key, key]), null)
  cipher.setAutoPadding(false)
  return Buffer.concat([cipher.update(clear), cipher.final()])
}

export function challengeResponse(challenge: Uint8Array, passwordHash: Uint8Array): Buffer {
  const padded = Buffer.alloc(3 * DES_KEY_LENGTH)
  padded.set(passwordHash.subarray(0, HASH_LENGTH))
  const keys = [0, 1, 2].map((index) => padded.subarray(index * DES_KEY_LENGTH, (index + 1) * DES_KEY_LENGTH))
  return Buffer.concat(keys.map((key) => desEncrypt(challenge, key)))
}

export interface Exchange {
  readonly name: string
  readonly password: string
  /** 16 bytes each: the server's, and the peer's. */
  readonly challenge: Uint8Array
  readonly peerChallenge: Uint8Array
}

export function ntResponse({ name, password, challenge, peerChallenge }: Exchange): Buffer {
  return challengeResponse(challengeHash(peerChallenge, challenge, name), ntPasswordHash(password))
}

/** Returns the answer to the response from a server that knows the password: `S=` and 40 hexadecimal digits. */
export function authenticatorResponse(
  { name, password, challenge, peerChallenge }: Exchange,
  response: Uint8Array,
): string {
  const hashOfHash = md4(ntPasswordHash(password))
  const digest = sha1(hashOfHash, response, SERVER_SIGNING)
  const proof = sha1(digest, challengeHash(peerChallenge, challenge, name), PAD_TO_MAKE_IT_DO_MORE)
  return `S=${proof.toString('hex').toUpperCase()}`
}
