import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { isHost } from '../base/host-name.ts'
import { isId, newId } from '../base/ids.ts'
import {
  isJoinerProof,
  isMemberProof,
  joinerProof,
  type JoinSession,
  type ProofKeys,
  proofKeysOf,
} from './join-proof.ts'

/**
 * The text that lets one node join: `fj1.<id>.<secret>.<pin of the authority>.<addresses>`. The pin has the form of
 * `pinOf`, the addresses are HOST:PORT of members, separated by commas.
 */

const VERSION = 'fj1'
const SECRET_BYTES = 32
const PIN_BYTES = 32
/** Number of addresses in a token: five nodes, and a second address for some. */
const ADDRESSES_MAX = 8
/** Eight host names of the greatest length do not fit, and need not. */
const TEXT_LENGTH_MAX = 1024
const BASE64URL = /^[A-Za-z0-9_-]*$/
/** In milliseconds. */
export const TOKEN_VALID_MAX = 24 * 3_600_000

export type JoinRole = 'node' | 'witness'

export type JoinTokenProblem =
  | 'TOKEN_LENGTH'
  | 'TOKEN_SHAPE'
  | 'TOKEN_VERSION'
  | 'TOKEN_ID'
  | 'SECRET_ENCODING'
  | 'SECRET_LENGTH'
  | 'PIN_ENCODING'
  | 'PIN_LENGTH'
  | 'ADDRESSES_COUNT'
  | 'ADDRESS'

/** An invalid token. The message contains nothing of the text: the wrong part may contain the secret. */
export class JoinTokenError extends Error {
  override readonly name = 'JoinTokenError'
  readonly code: JoinTokenProblem

  constructor(code: JoinTokenProblem, message: string) {
    super(message)
    this.code = code
  }
}

/** The address at which a member listens. An IPv6 host has no brackets. */
export interface JoinAddress {
  readonly host: string
  readonly port: number
}

/** The cluster's record of a token. The secret cannot be derived from it. */
export interface StoredJoinToken extends ProofKeys {
  readonly id: string
  readonly role: JoinRole
  readonly expiresAt_ms: number
  /** The node that issued the token. */
  readonly issuedBy?: string
  /** The node that has used it; a token is used once. */
  readonly usedBy?: string
  /**
   * The keys for which the node requested certificates: with the same keys, it may repeat the request if the answer was
   * lost.
   */
  readonly usedWith?: string
}

/** A token with its secret, which is a private field: only `toText` reveals it. */
export class JoinToken {
  readonly id: string
  /** Pin of the authority of the members' certificates. */
  readonly pin: string
  readonly addresses: readonly JoinAddress[]
  readonly #secret: Buffer

  private constructor(id: string, secret: Buffer, pin: string, addresses: readonly JoinAddress[]) {
    this.id = id
    this.pin = pin
    this.addresses = addresses
    this.#secret = secret
  }

  /**
   * Creates a token.
   *
   * @param addresses HOST:PORT, `[HOST]:PORT` for IPv6.
   * @throws {JoinTokenError} when the pin or the addresses are refused.
   */
  static create(pin: string, addresses: readonly string[]): JoinToken {
    const secret = randomBytes(SECRET_BYTES).toString('base64url')
    return JoinToken.parse([VERSION, newId(), secret, pin, addresses.join(',')].join('.'))
  }

  /**
   * Reads a token from a text. Spaces around it, as from pasting, are ignored.
   *
   * @throws {JoinTokenError} with the part that is wrong.
   */
  static parse(text: string): JoinToken {
    const token = text.trim()
    if (token.length > TEXT_LENGTH_MAX) refuse('TOKEN_LENGTH', `A token has at most ${TEXT_LENGTH_MAX} characters`)
    const [version, id, secret, pin, ...rest] = token.split('.')
    if (version !== VERSION) {
      refuse('TOKEN_VERSION', `A token begins with ${VERSION}; this one may be from another version of Fulcrum`)
    }
    if (id === undefined || secret === undefined || pin === undefined || rest.length === 0) {
      return refuse('TOKEN_SHAPE', 'A token has five parts separated by dots; the end of this one is missing')
    }
    if (!isId(id)) refuse('TOKEN_ID', 'The id of the token is not a UUID')
    const bytes = decoded(secret, SECRET_BYTES, 'SECRET', 'The secret of the token')
    decoded(pin, PIN_BYTES, 'PIN', 'The pin of the token')
    return new JoinToken(id, bytes, pin, parseAddresses(rest.join('.')))
  }

  /** Returns the text to hand over, including the secret. */
  toText(): string {
    const addresses = this.addresses.map(({ host, port }) =>
      isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`,
    )
    return [VERSION, this.id, this.#secret.toString('base64url'), this.pin, addresses.join(',')].join('.')
  }

  /**
   * Returns the cluster's record of the token, without the secret.
   *
   * @param validFor_ms at most `TOKEN_VALID_MAX`.
   * @throws {RangeError} for any other time.
   */
  stored(role: JoinRole, validFor_ms: number, now_ms: number): StoredJoinToken {
    if (!(validFor_ms > 0 && validFor_ms <= TOKEN_VALID_MAX))
      throw new RangeError('A token is valid for up to 24 hours')
    return { id: this.id, role, expiresAt_ms: now_ms + validFor_ms, ...proofKeysOf(this.#secret) }
  }

  /** Returns the joining node's proof, for this session only. */
  prove(session: JoinSession): Buffer {
    return joinerProof(this.#secret, session)
  }

  /** Whether this is the proof, for this session, of a member of the cluster that issued the token. */
  isProofOfMember(session: JoinSession, proof: Uint8Array): boolean {
    return isMemberProof(this.#secret, session, proof)
  }
}

/** `WRONG_PROOF`: the other side does not know the secret, or uses another session. */
export interface Unredeemed {
  readonly refusal: 'WRONG_PROOF' | 'TOKEN_EXPIRED' | 'TOKEN_USED'
  readonly message: string
}

export type Redemption = { readonly used: StoredJoinToken } | Unredeemed

export interface Proving {
  readonly session: JoinSession
  readonly proof: Uint8Array
}

/** The credentials of a joining node. */
export interface Redeeming extends Proving {
  /** Identifies the keys for which it requests certificates: no other node has them. */
  readonly keys: string
}

/** Returns why a node's request is refused unread; undefined when it knows the secret of the token. */
export function unproven(kept: StoredJoinToken, { session, proof }: Proving): Unredeemed | undefined {
  if (session.tokenId === kept.id && isJoinerProof(kept, session, proof)) return undefined
  return {
    refusal: 'WRONG_PROOF',
    message: 'The token is a different one, or the connection does not end at this node; copy the token again',
  }
}

/**
 * Admits a node by its proof. The single use of a token depends on the write of this result: the write must compare the
 * stored value with the one that was read, and be durable before the node is answered.
 *
 * The node that has used the token may come again, because the answer may have been lost; its keys show that it is the
 * same node. Only a node that proves to know the secret learns that a token has expired or was used.
 */
export function redeem(kept: StoredJoinToken, redeeming: Redeeming, now_ms: number): Redemption {
  const wrong = unproven(kept, redeeming)
  if (wrong !== undefined) return wrong
  const { keys, session } = redeeming
  const { joinerId } = session
  if (kept.usedBy !== undefined && (kept.usedBy !== joinerId || kept.usedWith !== keys)) {
    return { refusal: 'TOKEN_USED', message: `The node ${kept.usedBy} has already used this token; create another one` }
  }
  if (now_ms >= kept.expiresAt_ms) {
    const end = new Date(kept.expiresAt_ms).toISOString()
    return { refusal: 'TOKEN_EXPIRED', message: `The token was valid until ${end}; create another one` }
  }
  return { used: { ...kept, usedBy: joinerId, usedWith: keys } }
}

function refuse(code: JoinTokenProblem, message: string): never {
  throw new JoinTokenError(code, message)
}

/**
 * Decodes bytes that have exactly one valid spelling: another text that decodes to the same bytes is an error as well.
 */
function decoded(text: string, length: number, part: 'SECRET' | 'PIN', what: string): Buffer {
  const bytes = Buffer.from(text, 'base64url')
  if (!BASE64URL.test(text)) refuse(`${part}_ENCODING`, `${what} is not valid base64url`)
  if (bytes.length !== length) refuse(`${part}_LENGTH`, `${what} has ${bytes.length} bytes instead of ${length}`)
  if (bytes.toString('base64url') !== text) refuse(`${part}_ENCODING`, `${what} is not valid base64url`)
  return bytes
}

function parseAddresses(text: string): readonly JoinAddress[] {
  const addresses = text === '' ? [] : text.split(',')
  if (addresses.length === 0 || addresses.length > ADDRESSES_MAX) {
    refuse('ADDRESSES_COUNT', `A token has 1 to ${ADDRESSES_MAX} addresses; this one has ${addresses.length}`)
  }
  return addresses.map(
    (address, at) =>
      parseJoinAddress(address) ??
      refuse('ADDRESS', `Address ${at + 1} of the token is not HOST:PORT, with [HOST] for IPv6`),
  )
}

/** Reads HOST:PORT, or [HOST]:PORT for IPv6; undefined for anything else. */
export function parseJoinAddress(text: string): JoinAddress | undefined {
  const [, six, host = '', digits = ''] = /^(?:\[([^\]]*)\]|([^:[\]]*)):([1-9]\d{0,4})$/.exec(text) ?? []
  const port = Number(digits)
  const isRight = six === undefined ? isHost(host) : isIP(six) === 6 && isHost(six)
  return isRight && port >= 1 && port <= 65_535 ? { host: six ?? host, port } : undefined
}
