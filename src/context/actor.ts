/** The caller, as established by the token and looked up in running. */
export interface Actor {
  readonly userId: string
  readonly email: string
  readonly sessionId: string
}

/** A login as the audit log records it. */
export interface CameIn {
  readonly name: string
  readonly via: SessionData['via']
  /** Ids of older sessions that ended to make room. */
  readonly ended: readonly string[]
}

/** The answer to a login. */
export interface SessionData {
  readonly user: { readonly id: string; readonly email: string; readonly name: string }
  readonly token: string
  /** Whether the session may only set up a second factor. */
  readonly mustEnrol: boolean
  readonly via: 'password' | 'radius' | 'saml' | 'oidc'
  /** Ids of older sessions that ended because there were too many. */
  readonly ended: readonly string[]
}
