import { createHash, randomBytes } from 'node:crypto'
import type { SnmpUser } from '../model/snmp.ts'

export type AuthAlgorithm = SnmpUser['authAlgorithm']
export type PrivacyAlgorithm = SnmpUser['privacyAlgorithm']

/** RFC 3414 and RFC 7860. */
const HASHES: Readonly<Record<AuthAlgorithm, string>> = {
  md5: 'md5',
  sha: 'sha1',
  sha224: 'sha224',
  sha256: 'sha256',
  sha384: 'sha384',
  sha512: 'sha512',
}
/** DES takes 8 bytes of key and 8 that its first block is mixed with. */
const KEY_BYTES: Readonly<Record<PrivacyAlgorithm, number>> = { des: 16, aes: 16, aes192: 24, aes256: 32 }

/** RFC 3414, A.2: so many bytes of the passphrase, over and over. */
const EXPANDED_BYTES = 2 ** 20
/** How much is hashed at a time: a passphrase takes some milliseconds, and others wait for the same thread. */
const SLICE_BYTES = 2 ** 16

/** The key of a passphrase before it belongs to an engine. */
export async function masterKey(algorithm: AuthAlgorithm, passphrase: string): Promise<Buffer> {
  const bytes = Buffer.from(passphrase)
  if (bytes.length === 0) throw new Error('an empty passphrase has no key')
  const hash = createHash(HASHES[algorithm])
  // Whole repetitions, so that every slice begins where the one before has ended.
  const slice = Buffer.alloc(Math.ceil(SLICE_BYTES / bytes.length) * bytes.length, bytes)
  for (let left = EXPANDED_BYTES; left > 0; left -= slice.length) {
    hash.update(left < slice.length ? slice.subarray(0, left) : slice)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return hash.digest()
}

/** RFC 3414, 2.6: the key for one engine, hexadecimal. */
export function localisedKey(algorithm: AuthAlgorithm, master: Uint8Array, engineId: string): string {
  const engine = Buffer.from(engineId, 'hex')
  return createHash(HASHES[algorithm]).update(master).update(engine).update(master).digest('hex')
}

/**
 * A localised key as long as the cipher wants it; what a short hash lacks is the hash of what there is, as snmpd does
 * it.
 */
export function privacyKey(algorithm: AuthAlgorithm, privacy: PrivacyAlgorithm, localised: string): string {
  const wanted = KEY_BYTES[privacy]
  let key = Buffer.from(localised, 'hex')
  while (key.length < wanted) key = Buffer.concat([key, createHash(HASHES[algorithm]).update(key).digest()])
  return key.subarray(0, wanted).toString('hex')
}

/**
 * RFC 3411: the first bit, an enterprise number (of Net-SNMP: this project has none), form 5, and octets that nobody
 * else has.
 */
const ENGINE_START = '80001f8805'
const ENGINE_BYTES = 12

export const newEngineId = (): string => `${ENGINE_START}${randomBytes(ENGINE_BYTES).toString('hex')}`
