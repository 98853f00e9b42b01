import type { Where } from '../model/access.ts'
import type { Actor, SessionData } from './actor.ts'
import type { Asking } from './asking.ts'

/** Accounts as handlers see them: the caller's own, and for administrators all of them. */

export interface SessionEntry {
  readonly id: string
  readonly userId: string
  /** Login name; empty if the user no longer exists. */
  readonly name: string
  /** Address from which the user logged in. */
  readonly address: string
  readonly via: 'password' | 'radius' | 'saml' | 'oidc'
  /** ISO 8601, both fields. */
  readonly createdAt: string
  readonly expiresAt: string
  /** Whether it is the caller's session. */
  readonly isCurrent: boolean
}

export interface TokenEntry {
  readonly id: string
  readonly userId: string
  readonly userName: string
  readonly name: string
  /** Ids of endpoints; null for everything that its user may do. */
  readonly endpoints: string[] | null
  readonly createdAt: string
  /** null if it is valid until it is revoked. */
  readonly expiresAt: string | null
}

export interface SecondFactorState {
  readonly enabled: boolean
  /** ISO 8601; null if the user has no second factor. */
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
  /** Whether nothing else is granted until a second factor is set up. */
  readonly mustEnrol: boolean
  /** Ids of the granted endpoints, in the order of the table. */
  readonly endpoints: readonly string[]
  /** Those rights that are confined to some records. */
  readonly confined: readonly { readonly endpoint: string; readonly where: Where }[]
}

export interface WantedToken {
  readonly name: string
  readonly endpoints: readonly string[] | undefined
  /** null if it is valid until it is revoked. */
  readonly expiresInDays: number | null
}

export interface AccountsReader {
  own(asking: Asking): OwnAccount
  /** Returns the sessions and tokens of one user, or of all; sessions oldest first, tokens by id. */
  sessions(asking: Asking, userId?: string): readonly SessionEntry[]
  tokens(userId?: string): readonly TokenEntry[]
}

/** Changes take effect at once. Proofs by password or code are locked after five failures, as at a login. */
export interface Accounts extends AccountsReader {
  /**
   * Refuses with INVALID_CREDENTIALS, PASSWORD_POLICY, or NOT_SUPPORTED for a user without a local password. Ends the
   * user's other sessions.
   */
  changePassword(asking: Asking, current: string, next: string): Promise<void>
  /** Ends a session of one user, or of any; refuses with NOT_FOUND. */
  endSession(id: string, userId?: string): Promise<void>
  /** Ends the session, or revokes the API token, of the caller. */
  endOwn(actor: Actor): Promise<void>
  /** `token` is shown only this once. */
  createToken(asking: Asking, wanted: WantedToken): Promise<{ readonly id: string; readonly token: string }>
  revokeToken(id: string, userId?: string): Promise<void>
  /** Begins the setup; nothing changes until it is confirmed. */
  beginSecondFactor(asking: Asking, password: string): Promise<{ readonly secret: string; readonly uri: string }>
  confirmSecondFactor(asking: Asking, code: string): Promise<{ readonly recoveryCodes: readonly string[] }>
  removeSecondFactor(asking: Asking, password: string, code: string): Promise<void>
  /** For a user who has lost the second factor. */
  resetSecondFactor(asking: Asking, userId: string): Promise<void>
}

export interface SessionsReader {
  /** Returns a fresh token for the session; it never outlives the session. */
  token(sessionId: string): string
  /** Returns a ticket for `resume` with this key, valid until the session ends. */
  ticket(sessionId: string, pageKey: string): string
  /** Returns a fresh token for a ticket; undefined if its session has ended, or if it is for another key. */
  resume(ticket: string, pageKey: string): string | undefined
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
