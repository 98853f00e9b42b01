import { createHash, randomBytes } from 'node:crypto'
import type { SnmpUser } from '../model/snmp.ts'

export type AuthAlgorithm = SnmpUser['authAlgorithm']
export type PrivacyAlgorithm = SnmpUser['privacyAlgorithm']

/** By RFC 3414 and RFC 7860. */
const HASHES: Readonly<Record<AuthAlgorithm, string>> = {
  md5: 'md5',
  sha: 'sha1',
  sha224: 'sha224',
  sha256: 'sha256',
  sha384: 'sha384',
  sha512: 'sha512',
}
/** DES uses 8 bytes as its key, and 8 that are mixed into its first block. */
const KEY_BYTES: Readonly<Record<PrivacyAlgorithm, number>> = { des: 16, aes: 16, aes192: 24, aes256: 32 }

/** RFC 3414, A.2: the passphrase is repeated to this length. */
const EXPANDED_BYTES = 2 ** 20
/** Number of bytes hashed at a time: a passphrase takes some milliseconds, and other work needs the same thread. */
const SLICE_BYTES = 2 ** 16

/** Returns the key of a passphrase, not yet localised to an engine. */
export async function masterKey(algorithm: AuthAlgorithm, passphrase: string): Promise<Buffer> {
  const bytes = Buffer.from(passphrase)
  if (bytes.length === 0) throw new Error('an empty passphrase has no key')
  const hash = createHash(HASHES[algorithm])
  // Whole repetitions, so that every slice continues the one before.
  const slice = Buffer.alloc(Math.ceil(SLICE_BYTES / bytes.length) * bytes.length, bytes)
  for (let left = EXPANDED_BYTES; left > 0; left -= slice.length) {
    hash.update(left < slice.length ? slice.subarray(0, left) : slice)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return hash.digest()
}

/** Returns the key for one engine, in hexadecimal digits (RFC 3414, 2.6). */
export function localisedKey(algorithm: AuthAlgorithm, master: Uint8Array, engineId: string): string {
  const engine = Buffer.from(engineId, 'hex')
  return createHash(HASHES[algorithm]).update(master).update(engine).update(master).digest('hex')
}

/**
 * Returns a localised key of the cipher's length; a short hash is extended by the hash of the key so far, as snmpd does
 * it.
 */
export function privacyKey(algorithm: AuthAlgorithm, privacy: PrivacyAlgorithm, localised: string): string {
  const wanted = KEY_BYTES[privacy]
  let key = Buffer.from(localised, 'hex')
  while (key.length < wanted) key = Buffer.concat([key, createHash(HASHES[algorithm]).update(key).digest()])
  return key.subarray(0, wanted).toString('hex')
}

/** RFC 3411: the first bit, an enterprise number (of Net-SNMP: this project has none), form 5; unique octets follow. */
const ENGINE_START = '80001f8805'
const ENGINE_BYTES = 12

export const newEngineId = (): string => `${ENGINE_START}${randomBytes(ENGINE_BYTES).toString('hex')}`
