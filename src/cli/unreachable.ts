import { Failure } from './failure.ts'

/** What to say about a request whose answer is unknown. */
export const DOUBT = 'the request may have been carried out: check before you repeat it'

/** Requests that change nothing although they are sent with a body. */
const HARMLESS: ReadonlySet<string> = new Set(['/config/plan', '/config/import'])

export const mayChange = (method: string, path: string): boolean => method !== 'GET' && !HARMLESS.has(path)

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOENT: 'the socket does not exist',
  EACCES: 'permission denied',
  ENOTFOUND: 'the host does not exist',
  EAI_AGAIN: 'the name cannot be resolved',
  ECONNRESET: 'the connection was reset',
  EHOSTUNREACH: 'no route to the host',
  ETIMEDOUT: 'it does not answer',
}

const hasNotConnected = (error: unknown): boolean =>
  ['connect', 'getaddrinfo'].includes(String(Reflect.get(Object(error), 'syscall')))

function reasonOf(error: unknown): string {
  const code: unknown = Reflect.get(Object(error), 'code')
  return REASONS[String(code)] ?? (error instanceof Error && error.message !== '' ? error.message : String(code))
}

/** A request without an answer. */
export class Unreachable extends Failure {
  /** Whether the connection had been accepted. */
  readonly isLost: boolean
  /** Whether nothing of the request was sent. */
  readonly isUnsent: boolean

  /** `isChange`: the request may have been carried out if only its answer is lost. */
  constructor(url: string, error: unknown, { isUnsent = hasNotConnected(error), isChange = false } = {}) {
    const isLost = Reflect.get(Object(error), 'code') === 'ECONNRESET'
    super(`${url} cannot be reached: ${reasonOf(error)}${!isUnsent && isChange ? `; ${DOUBT}` : ''}`)
    this.isLost = isLost
    this.isUnsent = isUnsent
  }
}
