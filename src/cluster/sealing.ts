import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { lengthPrefixed } from './length-prefixed.ts'

/**
 * Sealing of a cluster's values in etcd: AES-256-GCM (NIST SP 800-38D) with a key that nodes have and the witness does
 * not. A value opens in its own place only: cluster and name are authenticated with it, and names of the log hold
 * the sequence number. Sealing cannot detect an older value of the very same name; such names (the checkpoint)
 * carry their sequence number inside.
 *
 *     version 1 | form 1 | key id 8 | nonce 12 | text, as long as the value | tag 16
 */

const CIPHER = 'aes-256-gcm'
const VERSION = 1
const FORM = { plain: 0, deflated: 1 } as const
const KEY_ID_BYTES = 8
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const NONCE_AT = 2 + KEY_ID_BYTES
const TEXT_AT = NONCE_AT + NONCE_BYTES
const LENGTH_MIN = TEXT_AT + TAG_BYTES
const DOMAIN = 'fulcrum cluster value'

/** Limit for a value, before deflating and after inflating. Parts of large values are far smaller. */
export const VALUE_BYTES_MAX = 8 * 1024 * 1024

/**
 * Limit for the values that one node seals with one key. Nonces are random, so two of n values share one with a
 * probability of about n² / 2^97; SP 800-38D (section 8.3) allows 2^32 values for all holders of the key together. At
 * eight nodes with 2^29 values each that limit is reached, with a probability of 2^-33; a new key is due at half of
 * that.
 */
export const SEALS_MAX = 2 ** 29
export const SEALS_DUE = 2 ** 28

export type SealingProblem =
  | 'TOO_LARGE'
  | 'KEY_SPENT'
  | 'SHAPE'
  | 'VERSION'
  | 'KEY_UNKNOWN'
  | 'NOT_AUTHENTIC'
  | 'INFLATE'

const MEANING = {
  TOO_LARGE: `the value has more than ${VALUE_BYTES_MAX} bytes`,
  KEY_SPENT: 'this key has sealed the maximum number of values; a new key is needed',
  SHAPE: 'the sealed value is too short, or has an unknown format',
  VERSION: 'the sealed value has another format version',
  KEY_UNKNOWN: 'the sealed value was sealed with a key that this node does not have',
  NOT_AUTHENTIC: 'the sealed value was modified, or belongs to another place',
  INFLATE: 'the opened value cannot be decompressed, or is too large',
} as const satisfies Record<SealingProblem, string>

/** A value that cannot be sealed, or does not open. The error holds no key, no text, and no cause that might. */
export class SealingError extends Error {
  override readonly name = 'SealingError'
  readonly code: SealingProblem
  /** The name of the place, such as `/f/log/000000000042`. */
  readonly place: string

  constructor(code: SealingProblem, place: string) {
    super(`${place}: ${MEANING[code]}`)
    this.code = code
    this.place = place
  }
}

/** A key in the form in which nodes receive and keep it. */
export interface StoredClusterKey {
  /** 16 hexadecimal digits. */
  readonly keyId: string
  /** 32 bytes in base64url. */
  readonly key: string
  /** The number of values that this node has sealed with it. */
  readonly seals: number
}

/** A new random key. */
export const newClusterKey = (): StoredClusterKey => ({
  keyId: randomBytes(KEY_ID_BYTES).toString('hex'),
  key: randomBytes(KEY_BYTES).toString('base64url'),
  seals: 0,
})

interface HeldKey {
  readonly keyId: string
  readonly key: KeyObject
  seals: number
}

/**
 * The keys of a cluster: the newest seals, all of them open. They are private fields, so printing the object never
 * prints them.
 */
export class ClusterKeys {
  readonly clusterId: string
  readonly #keys = new Map<string, HeldKey>()
  #newest: HeldKey

  /**
   * @param keys oldest first, at least one.
   * @throws {TypeError} when a key or its id is not as `newClusterKey` makes them, or an id occurs twice.
   */
  constructor(clusterId: string, keys: readonly [StoredClusterKey, ...StoredClusterKey[]]) {
    this.clusterId = clusterId
    const [first, ...rest] = keys
    this.#newest = this.#held(first)
    for (const key of rest) this.add(key)
  }

  get newestKeyId(): string {
    return this.#newest.keyId
  }

  /** Whether a new key should take over: see `SEALS_MAX`. */
  get isRotationDue(): boolean {
    return this.#newest.seals >= SEALS_DUE
  }

  /** Adds the next key, which seals from now on. */
  add(key: StoredClusterKey): void {
    this.#newest = this.#held(key)
  }

  has(keyId: string): boolean {
    return this.#keys.has(keyId)
  }

  /** Adds a key that opens values of other nodes but seals none; a key that is known already stays as it is. */
  hold(key: StoredClusterKey): void {
    if (!this.#keys.has(key.keyId)) this.#held(key)
  }

  /**
   * Makes a held key seal from now on.
   *
   * @throws {RangeError} when the key is not held.
   */
  use(keyId: string): void {
    const held = this.#keys.get(keyId)
    if (held === undefined) throw new RangeError('Only an existing key can seal')
    this.#newest = held
  }

  /**
   * Removes an older key, when no value sealed with it is left.
   *
   * @throws {RangeError} when it is the newest.
   */
  remove(keyId: string): void {
    if (keyId === this.#newest.keyId) throw new RangeError('The newest key seals and cannot be removed')
    this.#keys.delete(keyId)
  }

  /**
   * Returns all keys, the sealing one last, for the node that keeps them and for one that joins (whose own `seals`
   * begin at 0).
   */
  stored(): readonly [StoredClusterKey, ...StoredClusterKey[]] {
    const of = ({ keyId, key, seals }: HeldKey) => ({ keyId, key: key.export().toString('base64url'), seals })
    const [first, ...rest] = [...this.#keys.values()].filter((held) => held !== this.#newest).map(of)
    return first === undefined ? [of(this.#newest)] : [first, ...rest, of(this.#newest)]
  }

  /**
   * Seals a value for a place.
   *
   * @param name of the place in etcd, with the sequence number where the place has one.
   * @param deflate where that makes it shorter. Readers of etcd see the length of the sealed value, so this is for bulk
   *   data, not for a secret next to text that others choose.
   * @throws {SealingError} TOO_LARGE, KEY_SPENT.
   */
  seal(name: string, value: Uint8Array, { deflate = false } = {}): Buffer {
    if (value.length > VALUE_BYTES_MAX) throw new SealingError('TOO_LARGE', name)
    const held = this.#newest
    if (held.seals >= SEALS_MAX) throw new SealingError('KEY_SPENT', name)
    held.seals += 1
    const deflated = deflate ? deflateRawSync(value) : value
    const isShorter = deflated.length < value.length
    const head = Buffer.alloc(NONCE_AT)
    head[0] = VERSION
    head[1] = isShorter ? FORM.deflated : FORM.plain
    head.write(held.keyId, 2, 'hex')
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, held.key, nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(this.#boundTo(head, name))
    const text = cipher.update(isShorter ? deflated : value)
    return Buffer.concat([head, nonce, text, cipher.final(), cipher.getAuthTag()])
  }

  /**
   * Opens a value that was sealed for this place.
   *
   * @throws {SealingError} SHAPE, VERSION, KEY_UNKNOWN, NOT_AUTHENTIC (the same for a change, a swap and a replay),
   *   INFLATE.
   */
  open(name: string, sealed: Uint8Array): Buffer {
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length)
    const [version, form] = bytes
    if (version !== undefined && version !== VERSION) throw new SealingError('VERSION', name)
    const isDeflated = form === FORM.deflated
    if (bytes.length < LENGTH_MIN || (!isDeflated && form !== FORM.plain)) throw new SealingError('SHAPE', name)
    const held = this.#keys.get(bytes.toString('hex', 2, NONCE_AT))
    if (held === undefined) throw new SealingError('KEY_UNKNOWN', name)
    const nonce = bytes.subarray(NONCE_AT, TEXT_AT)
    const decipher = createDecipheriv(CIPHER, held.key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(this.#boundTo(bytes.subarray(0, NONCE_AT), name)).setAuthTag(bytes.subarray(-TAG_BYTES))
    const text = decipher.update(bytes.subarray(TEXT_AT, -TAG_BYTES))
    try {
      decipher.final()
    } catch {
      throw new SealingError('NOT_AUTHENTIC', name)
    }
    return isDeflated ? inflated(text, name) : text
  }

  /** Returns the data that is authenticated with the text. */
  #boundTo(head: Uint8Array, name: string): Buffer {
    return lengthPrefixed([DOMAIN, this.clusterId, name, head])
  }

  #held({ keyId, key, seals }: StoredClusterKey): HeldKey {
    const bytes = Buffer.from(key, 'base64url')
    if (!/^[0-9a-f]{16}$/.test(keyId) || this.#keys.has(keyId))
      throw new TypeError('The id of a key must be new and have 16 digits')
    if (bytes.length !== KEY_BYTES) throw new TypeError('A key must have 32 bytes')
    if (!Number.isSafeInteger(seals) || seals < 0) throw new TypeError('A count of seals must be an integer')
    const held = { keyId, key: createSecretKey(bytes), seals }
    this.#keys.set(keyId, held)
    return held
  }
}

/** Returns the id of the key that sealed a value, which need not be held. */
export const keyIdOf = (sealed: Uint8Array): string => Buffer.from(sealed.subarray(2, NONCE_AT)).toString('hex')

/**
 * Inflates with a limit. Only a holder of the key could make a text that inflates without end, but a defect must not
 * fill memory either.
 */
function inflated(text: Buffer, name: string): Buffer {
  try {
    return inflateRawSync(text, { maxOutputLength: VALUE_BYTES_MAX })
  } catch {
    throw new SealingError('INFLATE', name)
  }
}
