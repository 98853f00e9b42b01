import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import { lengthPrefixed } from './length-prefixed.ts'
import type { StoredClusterKey } from './sealing.ts'

/**
 * A new key of the cluster for its intended nodes only: for each of them it is encrypted to the key of the node's
 * certificate (ECDH on P-256 with a single-use key, HKDF-SHA256, AES-256-GCM; the nonce is fixed, because each derived
 * key encrypts one value). The encryption decides who can read it, not who wrote it: the message that carries it must
 * be sealed.
 */
export interface KeyNotice {
  readonly keyId: string
  /** Rises with each new key of the cluster. */
  readonly number: number
  /** ISO 8601. */
  readonly at: string
  /** SubjectPublicKeyInfo of the single-use key, in base64. */
  readonly sender: string
  /** The encrypted keys in base64, by the id of the node. */
  readonly sealedFor: Readonly<Record<string, string>>
}

export interface KeyRecipient {
  readonly id: string
  /** SubjectPublicKeyInfo of the key of the node's certificate, in base64. */
  readonly spki: string
}

const CURVE = 'P-256'
const CIPHER = 'aes-256-gcm'
const DOMAIN = 'fulcrum cluster key'
const NONCE = Buffer.alloc(12)
const KEY_BYTES = 32
const TAG_BYTES = 16

export function keyNotice(
  clusterId: string,
  { keyId, key }: Pick<StoredClusterKey, 'keyId' | 'key'>,
  recipients: readonly KeyRecipient[],
  { number, at }: Pick<KeyNotice, 'number' | 'at'>,
): KeyNotice {
  const once = generateKeyPairSync('ec', { namedCurve: CURVE })
  const sealedFor = Object.fromEntries(
    recipients.map(({ id, spki }) => {
      const derived = derivedKey(once.privateKey, publicKeyIn(spki), [clusterId, keyId, id])
      const cipher = createCipheriv(CIPHER, derived, NONCE, { authTagLength: TAG_BYTES })
      const text = cipher.update(Buffer.from(key, 'base64url'))
      return [id, Buffer.concat([text, cipher.final(), cipher.getAuthTag()]).toString('base64')]
    }),
  )
  const sender = once.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
  return { keyId, number, at, sender, sealedFor }
}

/**
 * Decrypts the key in a notice; returns undefined when there is none for this node.
 *
 * @param privateKey of the node's certificate, in PEM.
 * @throws {Error} when it was made for another key of the node, or changed.
 */
export function keyIn(
  clusterId: string,
  { keyId, sender, sealedFor }: KeyNotice,
  nodeId: string,
  privateKey: string,
): StoredClusterKey | undefined {
  const sealed = sealedFor[nodeId]
  if (sealed === undefined) return undefined
  const bytes = Buffer.from(sealed, 'base64')
  const derived = derivedKey(createPrivateKey(privateKey), publicKeyIn(sender), [clusterId, keyId, nodeId])
  const decipher = createDecipheriv(CIPHER, derived, NONCE, { authTagLength: TAG_BYTES })
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  const key = Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()])
  return { keyId, key: key.toString('base64url'), seals: 0 }
}

function derivedKey(privateKey: KeyObject, publicKey: KeyObject, context: readonly string[]): Buffer {
  const secret = diffieHellman({ privateKey, publicKey })
  return Buffer.from(hkdfSync('sha256', secret, '', lengthPrefixed([DOMAIN, ...context]), KEY_BYTES))
}

const publicKeyIn = (spki: string): KeyObject =>
  createPublicKey({ key: Buffer.from(spki, 'base64'), type: 'spki', format: 'der' })
