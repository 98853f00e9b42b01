import { ApiError, problemIn } from '../base/errors.ts'
import { JoinToken, JoinTokenError } from '../cluster/join-token.ts'
import { JoinError } from '../peers/joining/join-error.ts'
import type { Application } from '../peers/joining/protocol.ts'
import type { Applicant } from './admission.ts'
import { parseAddress } from './node-address.ts'

/** What joining refuses, on either side, in the words of the API. */

/** What a node says of itself, once its token was accepted. */
export function applicantOf(application: Application, id: string): Applicant {
  const { name, version, address, peerRequest: peer, clientRequest: client, records } = application
  const place = parseAddress(address, 0)
  const tokenKey: unknown = Reflect.get(Object(records), 'tokenKey')
  if (place === undefined || typeof tokenKey !== 'string') {
    throw new ApiError('INVALID_BODY', 'The application lacks its address, or the key of its tokens')
  }
  return { id, name, version, tokenKey, requests: { peer, client }, ...place }
}

export function parsedToken(text: string): JoinToken {
  try {
    return JoinToken.parse(text)
  } catch (error) {
    if (!(error instanceof JoinTokenError)) throw error
    throw tokenRefused(error.code, error.message)
  }
}

/** Why a node was not let in is about its token or its address. */
export async function refusedInWords<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof JoinError)) throw error
    if (UNREACHED.has(error.code)) throw new ApiError('NODE_UNREACHABLE', error.message)
    throw tokenRefused(error.code, error.message)
  }
}

const UNREACHED: ReadonlySet<string> = new Set(['UNREACHABLE', 'LOST', 'BUSY'])

const tokenRefused = (code: string, message: string) =>
  new ApiError('INVALID_BODY', message, { errors: [{ field: 'token', code, message }] })

export function wrongAddress(): ApiError {
  const message = 'address is HOST or HOST:PORT, with [HOST] for IPv6; the port is below 65534, as etcd takes two more'
  return new ApiError('INVALID_BODY', 'The address of this node cannot be used', {
    errors: [problemIn('address', message)],
  })
}
