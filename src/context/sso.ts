import type { SessionData } from './actor.ts'
import type { Asking } from './asking.ts'

/** Single sign-on as handlers see it. All of it refuses with NOT_FOUND while it is not set up. */
export interface SsoReader {
  /** Where to send the browser, and the cookie by which it is known again. */
  begin(): { readonly location: string; readonly cookie: string }
  /** Of this service provider, XML. */
  metadata(): Promise<string>
}
export interface Sso extends SsoReader {
  /**
   * Judges what the identity provider posts; refuses with INVALID_CREDENTIALS. Answers a code that opens one session.
   */
  finish(asking: Asking, response: string, cookies: string): Promise<string>
  redeem(asking: Asking, code: string): Promise<SessionData>
}
