import { createHmac, timingSafeEqual } from 'node:crypto'
import { bytesOf, childrenOf, encodeDer, type Node, numberOf, oidOf, parseDer, Unreadable } from './certificate-asn1.ts'
import { decrypt, pkcs12Key, WorkBudget, WrongPassword } from './certificate-encryption.ts'

/** The contents of a PFX. */
export interface PfxContents {
  /** DER. */
  readonly certificates: readonly Buffer[]
  /** PKCS #8, DER. */
  readonly keys: readonly Buffer[]
}

const DATA = '1.2.840.113549.1.7.1'
const ENCRYPTED_DATA = '1.2.840.113549.1.7.6'
const KEY_BAG = '1.2.840.113549.1.12.10.1.1'
const SHROUDED_KEY_BAG = '1.2.840.113549.1.12.10.1.2'
const CERTIFICATE_BAG = '1.2.840.113549.1.12.10.1.3'
const X509_CERTIFICATE = '1.2.840.113549.1.9.22.1'
const BAGS_MAX = 100
const MAC_HASHES = {
  '1.3.14.3.2.26': ['sha1', 20],
  '2.16.840.1.101.3.4.2.1': ['sha256', 32],
  '2.16.840.1.101.3.4.2.2': ['sha384', 48],
  '2.16.840.1.101.3.4.2.3': ['sha512', 64],
} as const

/** Opens a PKCS #12 file (RFC 7292) with keys of any kind. Throws `Unreadable` or `WrongPassword` and nothing else. */
export function openPfx(der: Buffer, password: string): PfxContents {
  const budget = new WorkBudget()
  const [version, authSafe, mac] = childrenOf(parseDer(der))
  if (numberOf(version) !== 3) throw new Unreadable('is not a PFX of version 3')
  const [kind, content] = childrenOf(authSafe)
  if (oidOf(kind) !== DATA) throw new Unreadable('is a PFX without a password, which is not supported')
  const safe = bytesOf(childrenOf(content)[0])
  const right = passwordThatFits(mac, safe, password, budget)
  const opener = new Opener(right, budget)
  for (const info of childrenOf(parseDer(safe))) opener.openContent(info)
  return opener
}

/** Some programs write an empty password as none: the MAC shows which of the two fits. */
function passwordThatFits(mac: Node | undefined, safe: Buffer, password: string, budget: WorkBudget): string | null {
  if (mac === undefined) throw new Unreadable('is a PFX without a check sum, which is not supported')
  if (isMacOf(mac, safe, password, budget)) return password
  if (password === '' && isMacOf(mac, safe, null, budget)) return null
  throw new WrongPassword()
}

function isMacOf(mac: Node, safe: Buffer, password: string | null, budget: WorkBudget): boolean {
  const [digestInfo, salt, rounds] = childrenOf(mac)
  const [algorithm, digest] = childrenOf(digestInfo)
  const oid = oidOf(childrenOf(algorithm)[0])
  const hashes: Readonly<Record<string, (typeof MAC_HASHES)[keyof typeof MAC_HASHES]>> = MAC_HASHES
  const known = hashes[oid]
  if (known === undefined) throw new Unreadable(`has a check sum of an unsupported type (${oid})`)
  const [hash, bytes] = known
  const iterations = rounds === undefined ? 1 : numberOf(rounds)
  const key = pkcs12Key({ password, salt: bytesOf(salt), iterations, purpose: 3, bytes, hash }, budget)
  const expected = bytesOf(digest)
  const found = createHmac(hash, key).update(safe).digest()
  return found.length === expected.length && timingSafeEqual(found, expected)
}

class Opener implements PfxContents {
  readonly certificates: Buffer[] = []
  readonly keys: Buffer[] = []
  readonly #password: string | null
  readonly #budget: WorkBudget
  #bags = 0

  constructor(password: string | null, budget: WorkBudget) {
    this.#password = password
    this.#budget = budget
  }

  openContent(info: Node): void {
    const [kind, content] = childrenOf(info)
    const oid = oidOf(kind)
    const [inner] = childrenOf(content)
    if (oid === DATA) return this.#openBags(bytesOf(inner))
    if (oid !== ENCRYPTED_DATA) throw new Unreadable(`has a part of an unsupported type (${oid})`)
    const [, encryptedInfo] = childrenOf(inner)
    const [, algorithm, data] = childrenOf(encryptedInfo)
    if (algorithm === undefined) throw new Unreadable('is damaged: a part of it is missing')
    this.#openBags(decrypt(algorithm, bytesOf(data), this.#password, this.#budget))
  }

  #openBags(bytes: Buffer): void {
    for (const bag of childrenOf(parseDer(bytes))) {
      if (++this.#bags > BAGS_MAX) throw new Unreadable(`contains more than ${BAGS_MAX} entries`)
      const [kind, value] = childrenOf(bag)
      this.#openBag(oidOf(kind), childrenOf(value)[0])
    }
  }

  /** Bags of other kinds (CRLs, secrets) are ignored. */
  #openBag(oid: string, value: Node | undefined): void {
    if (value === undefined) return
    if (oid === KEY_BAG) this.keys.push(encodeDer(value))
    if (oid === SHROUDED_KEY_BAG) this.keys.push(openKey(value, this.#password, this.#budget))
    if (oid !== CERTIFICATE_BAG) return
    const [kind, wrapped] = childrenOf(value)
    if (oidOf(kind) === X509_CERTIFICATE) this.certificates.push(bytesOf(childrenOf(wrapped)[0]))
  }
}

/** Decrypts an EncryptedPrivateKeyInfo and returns it as PKCS #8 without a password. */
export function openKey(info: Node, password: string | null, budget: WorkBudget): Buffer {
  const [algorithm, data] = childrenOf(info)
  if (algorithm === undefined) throw new Unreadable('is damaged: a part of it is missing')
  return decrypt(algorithm, bytesOf(data), password, budget)
}
