/**
 * Why the node was not admitted. `WRONG_PIN`: the answering machine is not of the cluster that issued the token.
 * `LOST`: no member answered completely, so the node may have been admitted. `REFUSED`: the node cannot be admitted at
 * this moment, or the member failed.
 */
const CODES = [
  'WRONG_PIN',
  'WRONG_PROOF',
  'UNREACHABLE',
  'LOST',
  'TOKEN_UNKNOWN',
  'TOKEN_EXPIRED',
  'TOKEN_USED',
  'OTHER_PROTOCOL',
  'OTHER_VERSION',
  'OTHER_ROLE',
  'CLOCK_SKEW',
  'ALREADY_MEMBER',
  'ADDRESS_UNREACHABLE',
  'INVALID_APPLICATION',
  'BUSY',
  'REFUSED',
] as const

export type JoinErrorCode = (typeof CODES)[number]

/** The token itself is invalid: another one is needed. */
export const OF_THE_TOKEN: ReadonlySet<JoinErrorCode> = new Set([
  'WRONG_PIN',
  'WRONG_PROOF',
  'TOKEN_UNKNOWN',
  'TOKEN_EXPIRED',
  'TOKEN_USED',
  'OTHER_ROLE',
])

/** The message is one line for people, with what to do next. It contains no secret. */
export class JoinError extends Error {
  override readonly name = 'JoinError'
  readonly code: JoinErrorCode

  constructor(code: JoinErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** Returns the error for a member's refusal. A later version may have other codes. */
export const refusedWith = (code: string, message: string): JoinError =>
  new JoinError(CODES.find((known) => known === code) ?? 'REFUSED', message)
