import { createCipheriv, createDecipheriv, randomBytes, scrypt, scryptSync } from 'node:crypto'
import { Type, type Static } from 'typebox'
import { closed } from '../model/fields.ts'

/** Encrypts the sections of a backup with a passphrase. */

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const SALT_BYTES = 16
const IV_BYTES = 12
const TAG_BYTES = 16
/** 2^16 blocks of 1 KiB: 64 MiB and about a quarter of a second per guess. */
const COST = { n: 65_536, r: 8, p: 1 } as const
/** A file may require twice as much and no more. */
const MEMORY_BYTES_MAX = 129 * 1024 * 1024

const Base64 = (description: string) =>
  Type.String({ pattern: '^[A-Za-z0-9+/]*={0,2}$', description: `${description} Base64.` })

export const Sealed = closed({
  kdf: Type.Literal('scrypt', { description: 'Key derivation from the passphrase.' }),
  n: Type.Enum([16_384, 32_768, 65_536, 131_072], { description: 'Cost parameter of scrypt.' }),
  r: Type.Literal(8, { description: 'Block size of scrypt.' }),
  p: Type.Literal(1, { description: 'Parallelization of scrypt.' }),
  salt: Type.String({ pattern: '^[A-Za-z0-9+/]{22}==$', description: 'Salt of scrypt, 16 bytes in base64.' }),
  cipher: Type.Literal(CIPHER, { description: 'Cipher of the data.' }),
  iv: Type.String({ pattern: '^[A-Za-z0-9+/]{16}$', description: 'Nonce, 12 bytes in base64.' }),
  tag: Type.String({ pattern: '^[A-Za-z0-9+/]{22}==$', description: 'Authentication tag, 16 bytes in base64.' }),
  text: Base64('Ciphertext of the data in its canonical form.'),
})
export type Sealed = Static<typeof Sealed>

/** The key of one file; each section has its own nonce. */
export interface SealingKey {
  readonly salt: Buffer
  readonly key: Buffer
}

/** Binds a section's text to its name and version. */
const placeOf = (name: string, version: number) => Buffer.from(`fulcrum backup 1 ${name} ${version}`)

/** Derives the key of a new file, in another thread. */
export function newSealingKey(passphrase: string): Promise<SealingKey> {
  const salt = randomBytes(SALT_BYTES)
  return new Promise((resolve, reject) => {
    const options = { N: COST.n, r: COST.r, p: COST.p, maxmem: MEMORY_BYTES_MAX }
    scrypt(passphrase, salt, KEY_BYTES, options, (error, key) =>
      error === null ? resolve({ salt, key }) : reject(error),
    )
  })
}

/** Encrypts text that comes in parts; its field `sealed` is last. */
export class Seal {
  readonly #key: SealingKey
  readonly #iv = randomBytes(IV_BYTES)
  readonly #cipher: ReturnType<typeof newCipher>
  readonly #texts: string[] = []
  /** Base64 encodes three bytes at a time. */
  #rest: Buffer = Buffer.alloc(0)

  constructor(key: SealingKey, name: string, version: number) {
    this.#key = key
    this.#cipher = newCipher(key.key, this.#iv, placeOf(name, version))
  }

  add(text: string): void {
    const bytes = Buffer.concat([this.#rest, this.#cipher.update(text, 'utf8')])
    const whole = bytes.length - (bytes.length % 3)
    this.#texts.push(bytes.toString('base64', 0, whole))
    this.#rest = bytes.subarray(whole)
  }

  /** Returns everything except the text, which may be long. */
  end(): { readonly facts: Omit<Sealed, 'text'>; readonly texts: readonly string[] } {
    this.#texts.push(Buffer.concat([this.#rest, this.#cipher.final()]).toString('base64'))
    const facts = {
      kdf: 'scrypt',
      ...COST,
      salt: this.#key.salt.toString('base64'),
      cipher: CIPHER,
      iv: this.#iv.toString('base64'),
      tag: this.#cipher.getAuthTag().toString('base64'),
    } as const
    return { facts, texts: this.#texts }
  }
}

const newCipher = (key: Buffer, iv: Buffer, place: Buffer) => createCipheriv(CIPHER, key, iv).setAAD(place)

/** Opens the sections of files; the expensive key is derived once per salt. Slow, so meant for a worker. */
export class Unsealer {
  readonly #passphrase: string
  readonly #parse: (raw: Uint8Array) => { readonly value: unknown } | undefined
  readonly #keys = new Map<string, Buffer>()

  constructor(passphrase: string, parse: (raw: Uint8Array) => { readonly value: unknown } | undefined) {
    this.#passphrase = passphrase
    this.#parse = parse
  }

  /**
   * Returns the sealed value, undefined inside if that is not JSON; undefined if the passphrase is wrong, or the text
   * was changed.
   */
  open(name: string, version: number, sealed: Sealed): { readonly value: unknown } | undefined {
    const iv = Buffer.from(sealed.iv, 'base64')
    const decipher = createDecipheriv(CIPHER, this.#keyOf(sealed), iv, { authTagLength: TAG_BYTES })
    decipher.setAAD(placeOf(name, version)).setAuthTag(Buffer.from(sealed.tag, 'base64'))
    const text = decipher.update(Buffer.from(sealed.text, 'base64'))
    let whole: Buffer
    try {
      whole = Buffer.concat([text, decipher.final()])
    } catch {
      return undefined
    }
    return { value: this.#parse(whole)?.value }
  }

  #keyOf({ salt, n, r, p }: Sealed): Buffer {
    const name = `${n} ${salt}`
    let key = this.#keys.get(name)
    if (key === undefined) {
      const options = { N: n, r, p, maxmem: MEMORY_BYTES_MAX }
      this.#keys.set(name, (key = scryptSync(this.#passphrase, Buffer.from(salt, 'base64'), KEY_BYTES, options)))
    }
    return key
  }
}
