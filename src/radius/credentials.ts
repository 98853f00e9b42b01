import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { RadiusConfig } from '../model/sign-in.ts'
import { authenticatorResponse, ntResponse } from './mschap.ts'
import { type Attribute, TYPE, VALUE_LENGTH_MAX, vendorAttribute, vendorValues } from './packet.ts'

export type Protocol = RadiusConfig['authProtocol']

/** A name and password, in the form of one protocol. */
export interface Credentials {
  readonly attributes: readonly Attribute[]
  /** Whether an acceptance contains the proof that the protocol requires. */
  isProven(accepted: readonly Attribute[]): boolean
}

const PAP_LENGTH_MAX = 128
const BLOCK = 16
export const MICROSOFT = { vendor: 311, error: 2, challenge: 11, response: 25, success: 26 } as const
const PASSWORD_LENGTH_MAX = 256

/** Returns why these credentials are not sent to any server; undefined when they can be sent. */
export function credentialProblem(name: string, password: string, protocol: Protocol): string | undefined {
  // Invisible characters would make several names look the same.
  if (name === '' || Buffer.byteLength(name) > VALUE_LENGTH_MAX || /[\p{Cc}\p{Cf}\p{Cs}]|^\p{Z}|\p{Z}$/u.test(name)) {
    return `The name must have 1 to ${VALUE_LENGTH_MAX} bytes, without surrounding blanks or invisible characters`
  }
  // Directories behind a server may take an empty password for an anonymous bind, and admit every user.
  if (password === '') return 'The password is empty'
  // Padding consists of zeros: a password that ends with one would be ambiguous.
  if (password.includes('\0')) return 'The password has a zero byte'
  if (protocol === 'PAP' && Buffer.byteLength(password) > PAP_LENGTH_MAX) {
    return `The password is longer than the ${PAP_LENGTH_MAX} bytes that PAP can carry`
  }
  return password.length > PASSWORD_LENGTH_MAX
    ? `The password is longer than ${PASSWORD_LENGTH_MAX} characters`
    : undefined
}

/** By RFC 2865, section 5.2. */
export function hiddenPassword(password: string, secret: string, authenticator: Uint8Array): Buffer {
  const clear = Buffer.from(password)
  const hidden = Buffer.alloc(Math.max(1, Math.ceil(clear.length / BLOCK)) * BLOCK)
  hidden.set(clear)
  let before: Uint8Array = authenticator
  for (let at = 0; at < hidden.length; at += BLOCK) {
    const block = hidden.subarray(at, at + BLOCK)
    const mask = createHash('md5').update(secret).update(before).digest()
    for (const [index, byte] of mask.entries()) block[index] = (block[index] ?? 0) ^ byte
    before = block
  }
  return hidden
}

const isProven = () => true

function pap(password: string, secret: string, authenticator: Uint8Array): Credentials {
  const value = hiddenPassword(password, secret, authenticator)
  return { attributes: [{ type: TYPE.userPassword, value }], isProven }
}

/** By RFC 1994. */
export const chapDigest = (identifier: Uint8Array, password: string, challenge: Uint8Array): Buffer =>
  createHash('md5').update(identifier).update(password).update(challenge).digest()

function chap(password: string): Credentials {
  const [identifier, challenge] = [randomBytes(1), randomBytes(BLOCK)]
  const value = Buffer.concat([identifier, chapDigest(identifier, password, challenge)])
  const response = { type: TYPE.chapPassword, value }
  return { attributes: [response, { type: TYPE.chapChallenge, value: challenge }], isProven }
}

/** By RFC 2548, section 2.3. */
function msChap(name: string, password: string): Credentials {
  const [challenge, peerChallenge, identifier] = [randomBytes(BLOCK), randomBytes(BLOCK), randomBytes(1)]
  const exchange = { name, password, challenge, peerChallenge }
  const response = ntResponse(exchange)
  const value = Buffer.concat([identifier, Buffer.of(0), peerChallenge, Buffer.alloc(8), response])
  const success = Buffer.concat([identifier, Buffer.from(authenticatorResponse(exchange, response))])
  return {
    attributes: [
      vendorAttribute(MICROSOFT.vendor, MICROSOFT.challenge, challenge),
      vendorAttribute(MICROSOFT.vendor, MICROSOFT.response, value),
    ],
    isProven: (accepted) =>
      // A message for people may follow the proof.
      vendorValues(accepted, MICROSOFT.vendor, MICROSOFT.success).some(
        (said) => said.length >= success.length && timingSafeEqual(said.subarray(0, success.length), success),
      ),
  }
}

export interface Asked {
  readonly name: string
  readonly password: string
  readonly protocol: Protocol
}

export function credentialsOf(
  { name, password, protocol }: Asked,
  secret: string,
  authenticator: Uint8Array,
): Credentials {
  if (protocol === 'PAP') return pap(password, secret, authenticator)
  return protocol === 'CHAP' ? chap(password) : msChap(name, password)
}
