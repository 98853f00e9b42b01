import { createDecipheriv, pbkdf2Sync } from 'node:crypto'
import forge from 'node-forge'
import { bytesOf, childrenOf, type Node, numberOf, oidOf, Unreadable } from './certificate-asn1.ts'

/** The file was encrypted with another password. */
export class WrongPassword extends Error {
  override readonly name = 'WrongPassword'
}

/** Hash rounds that one file may cost, about half a second; files of real programs need a hundredth. */
const ROUNDS_MAX = 500_000
/** OpenSSL's own loop takes a fifth of the time of the one in JavaScript. */
const NATIVE_ROUND = 0.2

export class WorkBudget {
  #left = ROUNDS_MAX

  spend(iterations: number, roundsEach: number): number {
    this.#left -= iterations * roundsEach
    if (!(iterations >= 1) || this.#left < 0) throw new Unreadable('has too many rounds of key derivation')
    return iterations
  }
}

interface Cipher {
  readonly name: string
  readonly keyBytes: number
  readonly ivBytes: number
  /** Set for RC2, which Node's ciphers do not include. */
  readonly rc2Bits?: number
}
const TRIPLE_DES: Cipher = { name: 'des-ede3-cbc', keyBytes: 24, ivBytes: 8 }
/** Ciphers of PKCS #12 appendix B: keys from SHA-1 and the password in UTF-16. */
const PKCS12_CIPHERS: Readonly<Record<string, Cipher>> = {
  '1.2.840.113549.1.12.1.3': TRIPLE_DES,
  '1.2.840.113549.1.12.1.5': { name: 'rc2', keyBytes: 16, ivBytes: 8, rc2Bits: 128 },
  '1.2.840.113549.1.12.1.6': { name: 'rc2', keyBytes: 5, ivBytes: 8, rc2Bits: 40 },
}
const PBES2 = '1.2.840.113549.1.5.13'
const PBKDF2 = '1.2.840.113549.1.5.12'
const PBES2_CIPHERS: Readonly<Record<string, Cipher>> = {
  '1.2.840.113549.3.7': TRIPLE_DES,
  '2.16.840.1.101.3.4.1.2': { name: 'aes-128-cbc', keyBytes: 16, ivBytes: 16 },
  '2.16.840.1.101.3.4.1.22': { name: 'aes-192-cbc', keyBytes: 24, ivBytes: 16 },
  '2.16.840.1.101.3.4.1.42': { name: 'aes-256-cbc', keyBytes: 32, ivBytes: 16 },
}
const HMACS: Readonly<Record<string, string>> = {
  '1.2.840.113549.2.7': 'sha1',
  '1.2.840.113549.2.8': 'sha224',
  '1.2.840.113549.2.9': 'sha256',
  '1.2.840.113549.2.10': 'sha384',
  '1.2.840.113549.2.11': 'sha512',
}

/**
 * Decrypts data as an AlgorithmIdentifier of password-based encryption describes it. A wrong password usually shows in
 * the padding.
 */
export function decrypt(algorithm: Node, data: Buffer, password: string | null, budget: WorkBudget): Buffer {
  const [oidNode, parameters] = childrenOf(algorithm)
  const oid = oidOf(oidNode)
  const pkcs12 = PKCS12_CIPHERS[oid]
  if (pkcs12 !== undefined) {
    const [salt, iterations] = childrenOf(parameters)
    const derive = (purpose: number, bytes: number) =>
      pkcs12Key({ password, salt: bytesOf(salt), iterations: numberOf(iterations), purpose, bytes }, budget)
    return decipher(pkcs12, derive(1, pkcs12.keyBytes), derive(2, pkcs12.ivBytes), data)
  }
  if (oid !== PBES2) throw new Unreadable(`is encrypted in a way that is not supported (${oid})`)
  const [derivation, scheme] = childrenOf(parameters)
  const [derivationOid, derivationParameters] = childrenOf(derivation)
  const [schemeOid, iv] = childrenOf(scheme)
  const cipher = PBES2_CIPHERS[oidOf(schemeOid)]
  if (oidOf(derivationOid) !== PBKDF2 || cipher === undefined) {
    throw new Unreadable(`is encrypted in a way that is not supported (${oidOf(derivationOid)}, ${oidOf(schemeOid)})`)
  }
  const [salt, iterations, ...others] = childrenOf(derivationParameters)
  const hmac = hmacOf(others)
  const rounds = Math.ceil(cipher.keyBytes / 20) * NATIVE_ROUND
  const key = pbkdf2Sync(
    password ?? '',
    bytesOf(salt),
    budget.spend(numberOf(iterations), rounds),
    cipher.keyBytes,
    hmac,
  )
  return decipher(cipher, key, bytesOf(iv), data)
}

/** Finds the pseudorandom function. The optional key length before it is implied by the cipher. */
function hmacOf(parameters: readonly Node[]): string {
  const prf = parameters.find((node) => node.constructed)
  if (prf === undefined) return 'sha1'
  const oid = oidOf(childrenOf(prf)[0])
  const hmac = HMACS[oid]
  if (hmac === undefined) throw new Unreadable(`is encrypted in a way that is not supported (${oid})`)
  return hmac
}

function decipher(cipher: Cipher, key: Buffer, iv: Buffer, data: Buffer): Buffer {
  if (iv.length !== cipher.ivBytes) throw new Unreadable('is damaged: its encryption has no proper start')
  if (cipher.rc2Bits !== undefined) return decipherRc2(key, cipher.rc2Bits, iv, data)
  const node = createDecipheriv(cipher.name, key, iv)
  try {
    return Buffer.concat([node.update(data), node.final()])
  } catch {
    throw new WrongPassword()
  }
}

function decipherRc2(key: Buffer, bits: number, iv: Buffer, data: Buffer): Buffer {
  const rc2 = forge.rc2.createDecryptionCipher(forge.util.createBuffer(key.toString('latin1')), bits)
  rc2.start(forge.util.createBuffer(iv.toString('latin1')))
  rc2.update(forge.util.createBuffer(data.toString('latin1')))
  if (data.length % 8 !== 0 || !rc2.finish()) throw new WrongPassword()
  return Buffer.from(rc2.output.getBytes(), 'latin1')
}

export interface Pkcs12Derivation {
  /** null stands for no password at all, which some programs write for an empty one. */
  readonly password: string | null
  readonly salt: Buffer
  readonly iterations: number
  /** 1: key, 2: initialisation vector, 3: MAC key. */
  readonly purpose: number
  readonly bytes: number
  readonly hash?: 'sha1' | 'sha256' | 'sha384' | 'sha512'
}

const SALT_BYTES_MAX = 1024

export function pkcs12Key(derivation: Pkcs12Derivation, budget: WorkBudget): Buffer {
  const { password, salt, iterations, purpose, bytes, hash = 'sha1' } = derivation
  if (salt.length > SALT_BYTES_MAX) throw new Unreadable('has a salt that is too long')
  const md = forge.md[hash].create()
  budget.spend(iterations, Math.ceil(bytes / md.digestLength))
  const from = forge.util.createBuffer(salt.toString('latin1'))
  return Buffer.from(forge.pkcs12.generateKey(password, from, purpose, iterations, bytes, md).getBytes(), 'latin1')
}
