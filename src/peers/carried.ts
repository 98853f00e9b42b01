import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2'

/** The parts of a request and of an answer that are forwarded between nodes. Everything not listed here is left out. */

export type Headers = Readonly<Record<string, string>>

/** The caller's credentials are not among them: the caller is forwarded as `CarriedWho`. */
export const REQUEST_HEADERS = [
  'accept',
  'accept-encoding',
  'content-length',
  'content-type',
  'if-match',
  'if-none-match',
  'last-event-id',
  'x-backup-passphrase',
  'x-fulcrum-sequence',
  'x-transaction-id',
] as const

export const ANSWER_HEADERS = [
  'allow',
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-length',
  'content-security-policy',
  'content-type',
  'etag',
  'location',
  'referrer-policy',
  'retry-after',
  'vary',
  'www-authenticate',
  'x-backup-warning',
  'x-cluster',
  'x-dry-run',
  'x-fulcrum-sequence',
  'x-resolution',
] as const

/** Headers between nodes only. */
export const WHO = 'fulcrum-who'
export const REQUEST_ID = 'fulcrum-request-id'
/** In an answer that replaces the handler's: the reason why the request was not started. */
export const REFUSED = 'fulcrum-refused'

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE'])
const TARGET_LENGTH_MAX = 8 * 1024
const HEADERS_LENGTH_MAX = 16 * 1024
const VISIBLE = /^[!-~]*$/
/** Excludes line breaks and everything else that two readers could take differently. */
const VALUE = /^(?:[!-~](?:[\t -~]*[!-~])?)?$/
const REQUEST_ID_FORM = /^[\w.:-]{1,128}$/

/** A part of a request or of an answer that is refused. The message names it without quoting it. */
export class CarriedError extends Error {
  override readonly name = 'CarriedError'
}

export interface Target {
  readonly method: string
  /** The path without the query. */
  readonly path: string
  /** The query without its question mark. */
  readonly query: string
}

/**
 * Returns `:path` of a target. Both sides call it: what is sent is valid, and so is what arrives.
 *
 * @throws {CarriedError} when it is anything but a method and a plain path.
 */
export function checkedPath({ method, path, query }: Target): string {
  if (!METHODS.has(method)) throw new CarriedError('This method is not forwarded')
  const target = query === '' ? path : `${path}?${query}`
  if (target.length > TARGET_LENGTH_MAX) throw new CarriedError('The path is too long to be forwarded')
  if (!isPlainPath(path) || !VISIBLE.test(query) || query.includes('#')) {
    throw new CarriedError('This path is not forwarded')
  }
  return target
}

/** Whether there is a single slash at the beginning, and no segment that leads elsewhere, however it is encoded. */
function isPlainPath(path: string): boolean {
  if (!/^\/(?!\/)/.test(path) || !VISIBLE.test(path) || /[?#\\]/.test(path)) return false
  const decoded = decodedOnce(path)
  return decoded !== undefined && !decoded.split(/[/\\]/).some((segment) => segment === '.' || segment === '..')
}

function decodedOnce(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

/** Returns a valid id. @throws {CarriedError} */
export function checkedRequestId(id: string): string {
  if (!REQUEST_ID_FORM.test(id)) throw new CarriedError('The id of the request is invalid')
  return id
}

/** Returns the forwarded headers. @throws {CarriedError} when one of them has a value that cannot be sent. */
export const carriedOfRequest = (headers: IncomingHttpHeaders | Headers): Record<string, string> =>
  carried(headers, REQUEST_HEADERS)

/** Returns the forwarded headers. @throws {CarriedError} when one of them has a value that cannot be sent. */
export const carriedOfAnswer = (headers: IncomingHttpHeaders | Headers): Record<string, string> =>
  carried(headers, ANSWER_HEADERS)

function carried(headers: IncomingHttpHeaders | Headers, names: readonly string[]): Record<string, string> {
  const kept: Record<string, string> = {}
  let length = 0
  for (const [name, value] of Object.entries(headers)) {
    const lowerCase = name.toLowerCase()
    if (!names.includes(lowerCase) || value === undefined || value === '') continue
    if (typeof value !== 'string' || !VALUE.test(value)) {
      throw new CarriedError(`The header ${lowerCase} has a value that cannot be forwarded`)
    }
    kept[lowerCase] = value
    length += lowerCase.length + value.length
  }
  if (length > HEADERS_LENGTH_MAX) throw new CarriedError('The headers are too long to be forwarded')
  return kept
}

/** Returns the target in the head of a request; missing fields become empty ones, which the check refuses. */
export function targetIn(headers: IncomingHttpHeaders | OutgoingHttpHeaders): Target {
  const { ':method': method, ':path': target } = headers
  const text = typeof target === 'string' ? target : ''
  const mark = text.indexOf('?')
  const [path, query] = mark === -1 ? [text, ''] : [text.slice(0, mark), text.slice(mark + 1)]
  return { method: typeof method === 'string' ? method : '', path, query }
}
