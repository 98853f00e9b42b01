/**
 * Every error of the API, defined once. A test compares it with the error table of the contract. `status` is the HTTP
 * status; `meaning` is the sentence in the generated documentation.
 */
export const ERRORS = {
  MALFORMED_REQUEST: { status: 400, meaning: 'The body is not JSON or not an object, or the request is ambiguous.' },
  UNAUTHENTICATED: { status: 401, meaning: 'There is no bearer token, or this daemon did not issue it.' },
  TOKEN_EXPIRED: { status: 401, meaning: 'The token or its session has ended; log in again.' },
  INVALID_CREDENTIALS: { status: 401, meaning: 'The e-mail or the password is wrong.' },
  TWO_FACTOR_REQUIRED: {
    status: 401,
    meaning: 'The password is correct, but the code of the second factor is missing.',
  },
  TWO_FACTOR_INVALID: { status: 401, meaning: 'The code of the second factor is wrong, or was already used.' },
  PERMISSION_DENIED: { status: 403, meaning: 'No role of the user grants this method on this path.' },
  USER_DISABLED: { status: 403, meaning: 'The user is disabled.' },
  SSO_ENFORCED: { status: 403, meaning: 'Password login is off; log in through the identity provider.' },
  UNKNOWN_ENDPOINT: { status: 404, meaning: 'There is no endpoint at this path.' },
  NOT_FOUND: { status: 404, meaning: 'The record, service or node does not exist.' },
  METHOD_NOT_ALLOWED: { status: 405, meaning: 'The path exists; the header Allow lists its methods.' },
  NAME_NOT_UNIQUE: { status: 409, meaning: 'Another record has this name.' },
  ID_NOT_UNIQUE: { status: 409, meaning: 'Another record has this id.' },
  IN_USE: { status: 409, meaning: 'Other records refer to this one; data.usage names them.' },
  IP_MISMATCH: { status: 409, meaning: 'The address in the query differs from the address of the record.' },
  TRANSACTION_OPEN: {
    status: 409,
    meaning: 'A transaction is open; commit it or roll it back first. data names the transaction and its owner.',
  },
  LIMIT_REACHED: { status: 409, meaning: 'The maximum number per owner is reached; remove one first.' },
  APPLY_IN_PROGRESS: { status: 409, meaning: 'Another apply is running; retry after the seconds in Retry-After.' },
  JOB_IN_PROGRESS: {
    status: 409,
    meaning:
      'A job, a shutdown or a restart is in progress and excludes this operation; data.job names the job; retry after the seconds in Retry-After.',
  },
  DEPENDS_ON_PENDING: {
    status: 409,
    meaning: 'The chosen changes need other pending changes, listed in errors; choose those as well.',
  },
  WARNINGS: {
    status: 409,
    meaning: 'There are warnings, listed in data.warnings, and refuseWarnings was sent; nothing changed.',
  },
  REVISION_MISMATCH: {
    status: 412,
    meaning: 'The record has changed since the revision in If-Match, or the request changes no record with a revision.',
  },
  PAYLOAD_TOO_LARGE: { status: 413, meaning: 'The body is larger than the limit of this endpoint.' },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    meaning: 'The content type of the body is not application/json, or it is compressed.',
  },
  INVALID_BODY: {
    status: 422,
    meaning: 'One or more fields of the body are missing, wrong or unknown; errors names each.',
  },
  INVALID_QUERY: {
    status: 422,
    meaning: 'One or more query parameters are missing, wrong or unknown; errors names each.',
  },
  READ_ONLY: {
    status: 422,
    meaning: 'A read-only field was sent with a value other than its current one; omit it.',
  },
  INVALID_DURATION: { status: 422, meaning: 'A timeout has a unit below a second, several units, or an unknown unit.' },
  OUT_OF_RANGE: { status: 422, meaning: 'A timeout is shorter than 1s or longer than 31d.' },
  ADDRESS_REQUIRED: { status: 422, meaning: 'An enabled proxy needs an address, sent or stored.' },
  INVALID_BYPASS_ENTRY: {
    status: 422,
    meaning: 'A bypass entry has a port or a wildcard, or is not a host or network.',
  },
  PASSWORD_NOT_STORED: { status: 422, meaning: 'The mask ** keeps the stored password, but none is stored.' },
  CONSOLE_PASSWORD_REQUIRED: { status: 422, meaning: 'Enabling console access requires a password.' },
  CONSOLE_DISABLED: { status: 422, meaning: 'A console password is refused while console access stays off.' },
  PASSWORD_POLICY: { status: 422, meaning: 'The password breaks rules; errors lists all of them.' },
  CERTIFICATE_EXPIRED: {
    status: 422,
    meaning: 'The certificate or one of its issuers has expired or is not valid yet; force accepts it.',
  },
  KEY_MISMATCH: { status: 422, meaning: 'The private key does not match any of the sent certificates.' },
  PFX_PASSWORD: { status: 422, meaning: 'The password does not open the PFX.' },
  PARAMETER_CONFLICT: { status: 422, meaning: 'A parameter of a health check is required and has a default.' },
  INVALID_NAME: { status: 422, meaning: 'A parameter name is not 1 to 64 letters and digits, or occurs twice.' },
  NTP_ENABLED: { status: 422, meaning: 'NTP controls the clock: disable it and apply before setting the clock.' },
  CONFIG_INVALID: {
    status: 422,
    meaning: "The generated configuration was rejected by the program's own checker; nothing changed.",
  },
  RATE_LIMITED: { status: 429, meaning: 'Too many logins; retry after the seconds in Retry-After.' },
  TOO_MANY_AT_ONCE: {
    status: 429,
    meaning: 'Too much work of one kind at once; the message says which limit; retry after the seconds in Retry-After.',
  },
  INTERNAL: { status: 500, meaning: 'A defect of the daemon; the log has the details under the request id.' },
  NOT_SUPPORTED: { status: 501, meaning: 'This machine does not support the operation.' },
  APPLY_PARTIAL: { status: 502, meaning: 'Some nodes failed to apply; data.nodes lists them with the reason.' },
  NODE_UNREACHABLE: {
    status: 503,
    meaning:
      'The node that must answer, data.nodeId, cannot be reached, is restarting, or was lost before its answer; data.mayBeDone says whether it may have carried out the request.',
  },
  NO_QUORUM: {
    status: 503,
    meaning: 'Too few nodes of the cluster answer, so no changes are possible; running services are not affected.',
  },
} as const satisfies Record<string, { readonly status: number; readonly meaning: string }>

export type ErrorCode = keyof typeof ERRORS

/** One problem with one field of a request. `field` is a dotted path (`reals.0.ripId`). */
export interface FieldError {
  readonly field: string
  readonly code: string
  readonly message: string
}

export interface ErrorDetails {
  readonly errors?: readonly FieldError[]
  readonly data?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** An expected refusal. Thrown by resources, config and auth; only the HTTP pipeline turns it into an answer. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly details: ErrorDetails
  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message)
    this.name = 'ApiError'
    this.code = code
    this.details = details
  }
  get status(): number {
    return ERRORS[this.code].status
  }
}

/**
 * A problem with one field that a rule of the specification finds; `code` is one of the error table, or specifies
 * INVALID_BODY.
 */
export interface FieldProblem extends FieldError {
  readonly code: ErrorCode
}

/** Returns a problem for which the table has no more specific code. */
export function problemIn(field: string, message: string): FieldProblem {
  return { field, code: 'INVALID_BODY', message }
}

/** Returns the number of problems, and the first ones. */
export function problemsText(problems: readonly FieldError[], told = problems.length): string {
  const list = problems.slice(0, told).map(({ field, message }) => `${field} ${message}`)
  return `${problems.length === 1 ? '1 problem' : `${problems.length} problems`}: ${list.join('; ')}`
}

/** Problems that a message lists; `errors` has all. */
export const PROBLEMS_TOLD = 5

/** Refuses a body with all its problems, whatever their codes; does nothing if there are none. */
export function refuseBody(errors: readonly FieldError[]): void {
  if (errors.length === 0) return
  throw new ApiError('INVALID_BODY', `The body has ${problemsText(errors, PROBLEMS_TOLD)}`, { errors })
}

/** Refuses a body with all its problems, under the code of the first; does nothing if there are none. */
export function refuseFields(problems: readonly FieldProblem[]): void {
  const [first] = problems
  if (first === undefined) return
  throw new ApiError(first.code, `The body has ${problemsText(problems)}`, { errors: problems })
}
