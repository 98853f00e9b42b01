import type { Endpoint } from '../api/endpoint.ts'
import { ApiError } from '../base/errors.ts'
import type { Incoming } from './incoming.ts'
import { Places } from '../base/places.ts'
import { parseForm, type ParsedBody, parseSmall, validBody, type Validation } from './validation.ts'

const BODY_BYTES_MAX = 1024 * 1024
/** Large bodies at a time, one per user, so that a slow sender does not block the others. */
const LARGE_BODIES_MAX = 2
/** For callers that are not logged in: enough for a login, too little to fill the memory. */
const PUBLIC_BODY_BYTES_MAX = 8 * 1024
/** Parses a large body without blocking other requests; undefined if it is not JSON in UTF-8, or nested too deeply. */
export type ParseLarge = (raw: Uint8Array) => Promise<ParsedBody>

/**
 * Returns whether the body may be so large that it needs a place among the large ones. Known before any of it is read.
 */
export function mayBeLarge({ bodyBytes_max }: Endpoint, incoming: Incoming): boolean {
  if (bodyBytes_max === undefined || bodyBytes_max <= BODY_BYTES_MAX) return false
  const length = incoming.header('content-length')
  return !/^\d{1,12}$/.test(length) || Number(length) > BODY_BYTES_MAX
}

/** Each takes several times its size while it is read, parsed and checked; more at a time would exhaust the memory. */
export const largeBodies = () =>
  new Places({ what: 'large bodies', all_max: LARGE_BODIES_MAX, each_max: 1, retryAfter_s: 5 })

/** Returns the maximum size of the body. */
export function bytesMaxOf({ bodyBytes_max, access }: Endpoint): number {
  return bodyBytes_max ?? (access === 'public' ? PUBLIC_BODY_BYTES_MAX : BODY_BYTES_MAX)
}

export const tooLarge = (bytes_max: number) =>
  new ApiError('PAYLOAD_TOO_LARGE', `The body may have at most ${bytes_max} bytes`)

/** Refuses a body that can be read in two ways, or is compressed. */
export function refuseUnreadable(incoming: Pick<Incoming, 'isAmbiguous' | 'header'>): void {
  if (incoming.isAmbiguous)
    throw new ApiError('MALFORMED_REQUEST', 'The headers define the length of the body more than once')
  if (!/^(identity)?$/i.test(incoming.header('content-encoding')))
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the body without Content-Encoding')
}

/** Reads and validates the body of a request. */
export async function readBody(
  endpoint: Endpoint,
  incoming: Incoming,
  validation: Validation,
  parseLarge: ParseLarge,
): Promise<unknown> {
  refuseUnreadable(incoming)
  const contentType = incoming.header('content-type')
  const bytes_max = bytesMaxOf(endpoint)
  const raw = await incoming.readBody(bytes_max)
  if (raw === undefined) throw tooLarge(bytes_max)
  if (endpoint.isForm && /^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType)) {
    return validBody(parseForm(raw), validation)
  }
  if (raw.length > 0 && !/^application\/json\s*(;|$)/i.test(contentType)) {
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the body with Content-Type: application/json')
  }
  return validBody(raw.length > BODY_BYTES_MAX ? await parseLarge(raw) : parseSmall(raw), validation)
}
