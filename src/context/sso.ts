import type { SessionData } from './actor.ts'
import type { Asking } from './asking.ts'

export interface FinishedLogin {
  readonly code: string
  readonly isForPage: boolean
}

/** Single sign-on by SAML as handlers see it. All of it refuses with NOT_FOUND while it is not set up. */
export interface SsoReader {
  /**
   * Where to send the browser, and the cookie by which it is known again. `isForPage`: the admin page has sent it here
   * and waits for it.
   */
  begin(isForPage: boolean): { readonly location: string; readonly cookie: string }
  /** Metadata of this service provider, XML. */
  metadata(): Promise<string>
}
export interface Sso extends SsoReader {
  /**
   * Judges what the identity provider posts; refuses with INVALID_CREDENTIALS. Answers a code that opens one session.
   */
  finish(asking: Asking, response: string, cookies: string): Promise<FinishedLogin>
  /** A code for the admin page opens a session in the browser that began the login, and in no other. */
  redeem(asking: Asking, code: string, cookies: string): Promise<SessionData>
}

/** The same by OpenID Connect. Its provider answers by a GET, which changes nothing: the code waits in memory. */
export interface OidcReader {
  begin(isForPage: boolean): Promise<{ readonly location: string; readonly cookie: string }>
  /** Judges what the identity provider sends the browser back with, as `Sso` does. */
  finish(asking: Asking, answer: URLSearchParams, cookies: string): Promise<FinishedLogin>
}
export interface Oidc extends OidcReader {
  redeem(asking: Asking, code: string, cookies: string): Promise<SessionData>
}
