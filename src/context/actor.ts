/** The caller, as established by the token and looked up in running. */
export interface Actor {
  readonly userId: string
  readonly email: string
  readonly sessionId: string
}

/** Somebody who logged in, as the audit log tells it. */
export interface CameIn {
  readonly name: string
  readonly via: SessionData['via']
  /** Ids of sessions that made room. */
  readonly ended: readonly string[]
}

/** The answer to a login. */
export interface SessionData {
  readonly user: { readonly id: string; readonly email: string; readonly name: string }
  readonly token: string
  /** The session may do nothing but set up a second factor. */
  readonly mustEnrol: boolean
  readonly via: 'password' | 'radius' | 'saml' | 'oidc'
  /** Ids of older sessions that ended because there were too many. */
  readonly ended: readonly string[]
}
