import type { SessionData } from './account.ts'

/** Single sign-on as handlers see it. All of it refuses with NOT_FOUND while it is not set up. */
export interface SsoReader {
  /** Where to send the browser, and the cookie by which it is known again. */
  begin(): { readonly location: string; readonly cookie: string }
  /** Of this service provider, XML. */
  metadata(): Promise<string>
}
export interface Sso extends SsoReader {
  /** Judges what the identity provider posts; refuses with INVALID_CREDENTIALS. Answers a code that opens one session. */
  finish(response: string, cookies: string): Promise<string>
  redeem(code: string): Promise<SessionData>
}
