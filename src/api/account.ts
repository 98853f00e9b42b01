/** What handlers see of people's accounts: their own, and everybody's for who may look after them. */

import type { Page, PageAsked } from './pages.ts'

/** Of a login. */
export interface SessionData {
  readonly user: { readonly id: string; readonly email: string; readonly name: string }
  readonly token: string
  /** The session may do nothing but set up a second factor. */
  readonly mustEnrol: boolean
  readonly via: 'password' | 'radius' | 'saml'
  /** Ids of older sessions that ended because there were too many. */
  readonly ended: readonly string[]
}

export interface SessionEntry {
  readonly id: string
  readonly userId: string
  /** Login name; empty when the user is gone. */
  readonly name: string
  /** Where the login came from. */
  readonly address: string
  readonly via: 'password' | 'radius' | 'saml'
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
  readonly kind: 'local' | 'radius'
  readonly groups: readonly string[]
  readonly roles: readonly string[]
  readonly secondFactor: SecondFactorState
  /** Nothing else is granted until a second factor is set up. */
  readonly mustEnrol: boolean
}

export interface AccountsReader {
  own(): OwnAccount
  /** Of one user, or of all. */
  sessions(page: PageAsked, userId?: string): Page<SessionEntry>
  tokens(page: PageAsked, userId?: string): Page<TokenEntry>
}

/** What acts, acts at once. Whoever proves who he is by a password or a code is held up like at a login after five failures. */
export interface Accounts extends AccountsReader {
  /** Refuses with INVALID_CREDENTIALS, PASSWORD_POLICY, or NOT_SUPPORTED for who has no password here. Other sessions of the user end. */
  changePassword(current: string, next: string): Promise<void>
  /** Ends sessions of one user, or of anybody; refuses with NOT_FOUND. */
  endSession(id: string, userId?: string): Promise<void>
  /** `token` is shown this once. */
  createToken(wanted: {
    readonly name: string
    readonly endpoints: readonly string[] | undefined
    /** null: until it is revoked. */
    readonly expiresInDays: number | null
  }): Promise<{ readonly id: string; readonly token: string }>
  revokeToken(id: string, userId?: string): Promise<void>
  /** Begins; nothing changes until it is confirmed. */
  beginSecondFactor(password: string): Promise<{ readonly secret: string; readonly uri: string }>
  confirmSecondFactor(code: string): Promise<{ readonly recoveryCodes: readonly string[] }>
  removeSecondFactor(password: string, code: string): Promise<void>
  /** Of somebody who has lost it. */
  resetSecondFactor(userId: string): Promise<void>
}
