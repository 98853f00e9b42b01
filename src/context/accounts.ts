import type { Where } from '../model/access.ts'
import type { Actor, SessionData } from './actor.ts'
import type { Asking } from './asking.ts'

/** What handlers see of accounts: the caller's own, and everybody's for administrators. */

export interface SessionEntry {
  readonly id: string
  readonly userId: string
  /** Login name; empty when the user is gone. */
  readonly name: string
  /** Where the login came from. */
  readonly address: string
  readonly via: 'password' | 'radius' | 'saml' | 'oidc'
  /** ISO 8601, both. */
  readonly createdAt: string
  readonly expiresAt: string
  /** The one that asks. */
  readonly isCurrent: boolean
}

export interface TokenEntry {
  readonly id: string
  readonly userId: string
  readonly userName: string
  readonly name: string
  /** Ids of endpoints; null: everything that its user may do. */
  readonly endpoints: string[] | null
  readonly createdAt: string
  /** null: until it is revoked. */
  readonly expiresAt: string | null
}

export interface SecondFactorState {
  readonly enabled: boolean
  /** ISO 8601; null without one. */
  readonly since: string | null
  readonly recoveryCodesLeft: number
}

export interface OwnAccount {
  readonly id: string
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  readonly kind: 'local' | 'radius' | 'oidc'
  readonly groups: readonly string[]
  readonly roles: readonly string[]
  readonly secondFactor: SecondFactorState
  /** Nothing else is granted until a second factor is set up. */
  readonly mustEnrol: boolean
  /** Ids of the endpoints that may be used, in the order of the table. */
  readonly endpoints: readonly string[]
  /** The rights among them that are confined to some records. */
  readonly confined: readonly { readonly endpoint: string; readonly where: Where }[]
}

export interface WantedToken {
  readonly name: string
  readonly endpoints: readonly string[] | undefined
  /** null: until it is revoked. */
  readonly expiresInDays: number | null
}

export interface AccountsReader {
  own(asking: Asking): OwnAccount
  /** Sessions of one user, or of all; sessions oldest first, tokens by their ids. */
  sessions(asking: Asking, userId?: string): readonly SessionEntry[]
  tokens(userId?: string): readonly TokenEntry[]
}

/** Effects are immediate. Proofs by password or code are locked after five failures, as at a login. */
export interface Accounts extends AccountsReader {
  /**
   * Refuses with INVALID_CREDENTIALS, PASSWORD_POLICY, or NOT_SUPPORTED for a user without a password here. Other
   * sessions of the user end.
   */
  changePassword(asking: Asking, current: string, next: string): Promise<void>
  /** Ends sessions of one user, or of anybody; refuses with NOT_FOUND. */
  endSession(id: string, userId?: string): Promise<void>
  /** The session, or the API token, that the caller came with. */
  endOwn(actor: Actor): Promise<void>
  /** `token` is shown this once. */
  createToken(asking: Asking, wanted: WantedToken): Promise<{ readonly id: string; readonly token: string }>
  revokeToken(id: string, userId?: string): Promise<void>
  /** Begins; nothing changes until it is confirmed. */
  beginSecondFactor(asking: Asking, password: string): Promise<{ readonly secret: string; readonly uri: string }>
  confirmSecondFactor(asking: Asking, code: string): Promise<{ readonly recoveryCodes: readonly string[] }>
  removeSecondFactor(asking: Asking, password: string, code: string): Promise<void>
  /** For a user who has lost it. */
  resetSecondFactor(asking: Asking, userId: string): Promise<void>
}

export interface SessionsReader {
  /** A fresh token for the session; it never outlives the session. */
  token(sessionId: string): string
  /** For `resume`, until the session ends. */
  ticket(sessionId: string): string
  /** A fresh token for a ticket; undefined where its session has ended. */
  resume(ticket: string): string | undefined
}

export interface Credentials {
  readonly email: string
  readonly password: string
  /** Code of the second factor. */
  readonly code?: string | undefined
}

export interface LoginActor {
  login(credentials: Credentials, address: string): Promise<SessionData>
}

export interface Hashing {
  hash(password: string): Promise<string>
}
