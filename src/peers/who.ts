import { Type } from 'typebox'
import { validatorOf } from '../base/validator.ts'

/**
 * The caller on whose behalf a node sends a request to another one. The other node judges the user's permissions by its
 * own configuration; it never receives the user's credentials, which would be valid for anything, anywhere.
 */
export interface CarriedWho {
  readonly userId: string
  readonly email: string
  /** Id of the session, or its substitute when a program uses a token. */
  readonly sessionId: string
  /** For a token: ids of the endpoints that it is limited to. undefined: all that the user has access to. */
  readonly endpoints?: readonly string[]
  /** Address of the client. */
  readonly address: string
  /** The node that forwarded the request: such a request is not forwarded again. undefined: it came from a client. */
  readonly via?: string
}

/** Length in the form that is sent. A token that is limited to every existing endpoint takes half of it. */
export const WHO_LENGTH_MAX = 40 * 1024
const ENDPOINTS_MAX = 1_000
const BASE64URL = /^[\w-]+$/

/**
 * The text does not identify a caller, or not in a form that may be forwarded. The message contains nothing of the
 * text.
 */
export class WhoError extends Error {
  override readonly name = 'WhoError'
}

const text = (maxLength: number) => Type.String({ minLength: 1, maxLength })

/** Fields that are not listed here come from another version, and are ignored. */
const Fields = Type.Object({
  userId: text(128),
  email: text(320),
  sessionId: text(128),
  endpoints: Type.Optional(Type.Array(text(128), { maxItems: ENDPOINTS_MAX })),
  address: text(64),
  via: text(64),
})

/**
 * Returns the caller in the form that this node sends.
 *
 * @throws {WhoError} when the request came from a node already, or does not fit.
 */
export function encodeWho(who: CarriedWho, self: string): string {
  if (who.via !== undefined) throw new WhoError('A request forwarded by a node is not forwarded again')
  const { userId, email, sessionId, endpoints, address } = who
  // Field by field: any other fields of the caller's object stay here.
  const fields = { userId, email, sessionId, ...(endpoints === undefined ? {} : { endpoints }), address, via: self }
  const sent = Buffer.from(JSON.stringify(fields)).toString('base64url')
  if (sent.length > WHO_LENGTH_MAX || !validatorOf(Fields).Check(fields)) {
    throw new WhoError('The identity of the caller is missing, or too long to be forwarded')
  }
  return sent
}

/**
 * Reads the caller that the node `from` sent.
 *
 * @throws {WhoError} when something is missing or too long, or when another node than `from` forwarded it first.
 */
export function decodeWho(sent: string, from: string): CarriedWho {
  const fields = sent.length <= WHO_LENGTH_MAX && BASE64URL.test(sent) ? parsed(sent) : undefined
  if (!validatorOf(Fields).Check(fields))
    throw new WhoError('The identity of the caller cannot be read, or is incomplete')
  const { userId, email, sessionId, endpoints, address, via } = fields
  if (via !== from) throw new WhoError('A request forwarded by a node is not forwarded again')
  return { userId, email, sessionId, ...(endpoints === undefined ? {} : { endpoints }), address, via }
}

function parsed(sent: string): unknown {
  try {
    return JSON.parse(Buffer.from(sent, 'base64url').toString())
  } catch {
    return undefined
  }
}
