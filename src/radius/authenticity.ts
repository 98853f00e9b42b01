import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import {
  AUTHENTICATOR_LENGTH,
  encodePacket,
  HEADER_LENGTH,
  type Packet,
  type ReceivedPacket,
  TYPE,
  valuesOf,
} from './packet.ts'

const UNSIGNED = new Uint8Array(AUTHENTICATOR_LENGTH)
const AUTHENTICATOR_AT = HEADER_LENGTH - AUTHENTICATOR_LENGTH

const keyed = (secret: string, bytes: Uint8Array) => createHmac('md5', secret).update(bytes).digest()

/**
 * Returns the packet with its Message-Authenticator (RFC 3579), which comes first: a forger could choose any bytes
 * before it.
 */
export function signedRequest(packet: Packet, secret: string): Buffer {
  const first = { type: TYPE.messageAuthenticator, value: UNSIGNED }
  const bytes = encodePacket({ ...packet, attributes: [first, ...packet.attributes] })
  bytes.set(keyed(secret, bytes), HEADER_LENGTH + 2)
  return bytes
}

/**
 * `genuine` was made for this request by a server that knows the secret. `unprotected` has only its Response
 * Authenticator, which can be forged without the secret (CVE-2024-3596). `forged` is everything else, including an
 * answer made with another secret.
 */
export type Authenticity = 'genuine' | 'unprotected' | 'forged'

export function authenticityOf(answer: ReceivedPacket, requestAuthenticator: Uint8Array, secret: string): Authenticity {
  const asked = Buffer.from(answer.bytes)
  asked.set(requestAuthenticator, AUTHENTICATOR_AT)
  const expected = createHash('md5').update(asked).update(secret).digest()
  if (!timingSafeEqual(expected, answer.authenticator)) return 'forged'
  const { attributes, places } = answer
  const signatures = attributes.flatMap(({ type }, index) =>
    type === TYPE.messageAuthenticator ? [places[index] ?? 0] : [],
  )
  const [at] = signatures
  // This client's requests have no Proxy-State: it is where forgers put the bytes that they need for a collision.
  if (at === undefined) return valuesOf(attributes, TYPE.proxyState).length > 0 ? 'forged' : 'unprotected'
  const signature = Buffer.from(asked.subarray(at, at + AUTHENTICATOR_LENGTH))
  const [value] = valuesOf(attributes, TYPE.messageAuthenticator)
  if (signatures.length > 1 || value?.length !== AUTHENTICATOR_LENGTH) return 'forged'
  asked.set(UNSIGNED, at)
  return timingSafeEqual(keyed(secret, asked), signature) ? 'genuine' : 'forged'
}
