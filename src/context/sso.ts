import type { SessionData } from './actor.ts'
import type { Asking } from './asking.ts'

export interface FinishedLogin {
  readonly code: string
  readonly isForPage: boolean
}

/** Single sign-on by SAML as handlers see it. Every method refuses with NOT_FOUND while SAML is not set up. */
export interface SsoReader {
  /**
   * Returns where to send the browser, and the cookie that identifies it later. `isForPage`: the admin page has sent it
   * and waits for the result.
   */
  begin(isForPage: boolean): { readonly location: string; readonly cookie: string }
  /** Returns the metadata of this service provider, as XML. */
  metadata(): Promise<string>
}
export interface Sso extends SsoReader {
  /**
   * Judges the identity provider's response; refuses with INVALID_CREDENTIALS. Returns a code that opens one session.
   */
  finish(asking: Asking, response: string, cookies: string): Promise<FinishedLogin>
  /** A code for the admin page opens a session only in the browser that began the login. */
  redeem(asking: Asking, code: string, cookies: string): Promise<SessionData>
}

/**
 * Single sign-on by OpenID Connect. Its provider answers with a GET, which changes nothing: the code waits in memory.
 */
export interface OidcReader {
  begin(isForPage: boolean): Promise<{ readonly location: string; readonly cookie: string }>
  /** Judges the answer that the identity provider sends with the browser, as `Sso.finish` does. */
  finish(asking: Asking, answer: URLSearchParams, cookies: string): Promise<FinishedLogin>
}
export interface Oidc extends OidcReader {
  redeem(asking: Asking, code: string, cookies: string): Promise<SessionData>
}
