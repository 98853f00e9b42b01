import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { lengthPrefixed } from './length-prefixed.ts'

/**
 * The proofs by which a joining node and a member of the cluster show each other that they know the secret of a token,
 * without sending it, in one TLS session: a proof from one session is worthless in another, so a man in the middle
 * gains nothing.
 *
 * The form is that of SCRAM (RFC 5802, section 3) with the exporter of the session for its channel binding (RFC 9266
 * does so with a label of its own). Checking a plain HMAC under the secret would take the secret itself, or something
 * equivalent; here the member keeps a hash that can check a proof but cannot make one. There is neither salt nor
 * iteration: a secret of 256 random bits cannot be guessed.
 */

const DOMAIN = 'fulcrum join 1'
/** RFC 5705, section 4: labels with the prefix EXPERIMENTAL need no registration. */
const LABEL = 'EXPERIMENTAL fulcrum join 1'
const EXPORTED_BYTES = 32

/** The two sides that prove themselves: the joining node, and the member that it contacts. */
export type Prover = 'joiner' | 'member'

/** The values to which a proof is bound. Each side takes them from its own end of the connection. */
export interface JoinSession {
  readonly tokenId: string
  readonly joinerId: string
  readonly memberId: string
  /** Keying material of the TLS session: equal at both of its ends, and different in every other session. */
  readonly exported: Uint8Array
}

/** A member's part of a secret: enough to check the joiner's proof and to make its own. */
export interface ProofKeys {
  /** SHA-256 of the key for the joiner's proofs; base64url. */
  readonly joinerKeyHash: string
  /** The key for the member's proofs; base64url. */
  readonly memberKey: string
}

/**
 * Returns the session of a socket after its handshake.
 *
 * @throws {TypeError} when it is not TLS 1.3: in older versions, keying material does not cover the whole handshake
 *   (RFC 7627).
 */
export function joinSession(
  socket: Pick<TLSSocket, 'getProtocol' | 'exportKeyingMaterial'>,
  ids: Omit<JoinSession, 'exported'>,
): JoinSession {
  if (socket.getProtocol() !== 'TLSv1.3') throw new TypeError('A proof must be bound to a TLS 1.3 session')
  return { ...ids, exported: socket.exportKeyingMaterial(EXPORTED_BYTES, LABEL, Buffer.from(ids.tokenId)) }
}

export const proofKeysOf = (secret: Uint8Array): ProofKeys => ({
  joinerKeyHash: sha256(derived(secret, 'joiner')).toString('base64url'),
  memberKey: derived(secret, 'member').toString('base64url'),
})

/** Makes the joiner's proof: its key under a pad that is unique to this session. 32 bytes. */
export function joinerProof(secret: Uint8Array, session: JoinSession): Buffer {
  const key = derived(secret, 'joiner')
  return xored(key, hmac(sha256(key), boundTo('joiner', session)))
}

/** Whether the other side knows the secret, is a joiner, and is at the other end of this very session. */
export function isJoinerProof({ joinerKeyHash }: ProofKeys, session: JoinSession, proof: Uint8Array): boolean {
  const hash = Buffer.from(joinerKeyHash, 'base64url')
  const pad = hmac(hash, boundTo('joiner', session))
  return proof.length === pad.length && timingSafeEqual(sha256(xored(proof, pad)), hash)
}

/** Makes the member's proof. 32 bytes. */
export const memberProof = ({ memberKey }: ProofKeys, session: JoinSession): Buffer =>
  hmac(Buffer.from(memberKey, 'base64url'), boundTo('member', session))

/** Whether the other side is a member with the stored token, at the other end of this very session. */
export const isMemberProof = (secret: Uint8Array, session: JoinSession, proof: Uint8Array): boolean =>
  // Hashes, because proofs of a wrong length must be compared as well.
  timingSafeEqual(sha256(hmac(derived(secret, 'member'), boundTo('member', session))), sha256(proof))

const derived = (secret: Uint8Array, prover: Prover) => hmac(secret, Buffer.from(`${DOMAIN} ${prover}`))

const boundTo = (prover: Prover, { tokenId, joinerId, memberId, exported }: JoinSession) =>
  lengthPrefixed([DOMAIN, prover, tokenId, joinerId, memberId, exported])

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()
const hmac = (key: Uint8Array, bytes: Uint8Array) => createHmac('sha256', key).update(bytes).digest()
const xored = (bytes: Uint8Array, pad: Uint8Array) => Buffer.from(bytes.map((byte, at) => byte ^ (pad[at] ?? 0)))
