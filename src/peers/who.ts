import { Type } from 'typebox'
import { validatorOf } from '../base/validator.ts'

/**
 * On whose behalf a node asks another one. The other node judges what the user may do by its own running; it is never
 * given what the user showed, which would be good for anything, anywhere.
 */
export interface CarriedWho {
  readonly userId: string
  readonly email: string
  /** Id of the session, or of what stands for one when a program uses a token. */
  readonly sessionId: string
  /** For a token: ids of the endpoints that it is limited to. undefined: everything that the user may do. */
  readonly endpoints?: readonly string[]
  /** Address of the client. */
  readonly address: string
  /** The node that forwarded the request: one that has come so goes no further. undefined: it came from a client. */
  readonly via?: string
}

/** In the form that is sent. A token that is limited to each endpoint there is takes half of it. */
export const WHO_LENGTH_MAX = 40 * 1024
const ENDPOINTS_MAX = 1_000
const BASE64URL = /^[\w-]+$/

/**
 * A text that does not identify the caller, or not in a form that may be carried. The message contains nothing of the
 * text.
 */
export class WhoError extends Error {
  override readonly name = 'WhoError'
}

const text = (maxLength: number) => Type.String({ minLength: 1, maxLength })

/** Fields that are not named here come from another version, and mean nothing to this one. */
const Fields = Type.Object({
  userId: text(128),
  email: text(320),
  sessionId: text(128),
  endpoints: Type.Optional(Type.Array(text(128), { maxItems: ENDPOINTS_MAX })),
  address: text(64),
  via: text(64),
})

/**
 * As it is sent by this node.
 *
 * @throws {WhoError} when it came from a node already, or does not fit.
 */
export function encodeWho(who: CarriedWho, self: string): string {
  if (who.via !== undefined) throw new WhoError('A request that a node has forwarded is not forwarded again')
  const { userId, email, sessionId, endpoints, address } = who
  // Field by field: whatever else the caller's object holds stays here.
  const fields = { userId, email, sessionId, ...(endpoints === undefined ? {} : { endpoints }), address, via: self }
  const sent = Buffer.from(JSON.stringify(fields)).toString('base64url')
  if (sent.length > WHO_LENGTH_MAX || !validatorOf(Fields).Check(fields)) {
    throw new WhoError('What identifies the caller is missing, or too long to be carried')
  }
  return sent
}

/**
 * What the node `from` sent.
 *
 * @throws {WhoError} when something is missing or too long, or when another node than this one forwarded it first.
 */
export function decodeWho(sent: string, from: string): CarriedWho {
  const fields = sent.length <= WHO_LENGTH_MAX && BASE64URL.test(sent) ? parsed(sent) : undefined
  if (!validatorOf(Fields).Check(fields))
    throw new WhoError('What identifies the caller cannot be read, or is incomplete')
  const { userId, email, sessionId, endpoints, address, via } = fields
  if (via !== from) throw new WhoError('A request that a node has forwarded is not forwarded again')
  return { userId, email, sessionId, ...(endpoints === undefined ? {} : { endpoints }), address, via }
}

function parsed(sent: string): unknown {
  try {
    return JSON.parse(Buffer.from(sent, 'base64url').toString())
  } catch {
    return undefined
  }
}
