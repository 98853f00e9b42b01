import { effect, signal, untracked } from '@preact/signals'
import { ask, isLocked, read, Refused, openSession, textOf, token } from './api.ts'
import { keep, kept } from './kept.ts'

/** The logged-in user, and the beginning and end of the session. */

export interface Account {
  readonly id: string
  readonly email: string
  readonly firstName: string
  readonly lastName: string
  readonly kind: 'local' | 'radius' | 'oidc'
  readonly secondFactor: {
    readonly enabled: boolean
    readonly since: string | null
    readonly recoveryCodesLeft: number
  }
  readonly mustEnrol: boolean
  /** Id of the daemon that served the page. */
  readonly nodeId: string
  /** Ids of the endpoints that the user's roles grant. */
  readonly endpoints: readonly string[]
}

export interface LoginOptions {
  readonly ssoEnforced: boolean
  readonly samlConfigured: boolean
  readonly samlEnforced: boolean
  readonly oidcConfigured: boolean
  readonly oidcEnforced: boolean
}

/** `asking`: the page is finding out whether this browser still has a session. */
export const state = signal<'asking' | 'out' | 'in'>('asking')
export const account = signal<Account | undefined>(undefined)
/**
 * Whether there is a session whose user is still being requested: data for the first screen can be requested meanwhile.
 */
export const isEntering = signal(false)

/** Counts logouts and changes of the user: what one user saw and typed must not reach the next. */
export const forgotten = signal(0)

/** Runs `clear` at each logout or change of the user. */
export function whenForgotten(clear: () => void): void {
  effect(() => {
    if (forgotten.value > 0) untracked(clear)
  })
}

export interface SsoRefusal {
  /** Name of the endpoint that has refused. */
  readonly by: string
  readonly code: string
}
/** The result of a login at an identity provider: a code that opens a session, or a refusal. */
export type SsoEnd = { readonly via: 'saml' | 'oidc'; readonly code: string } | SsoRefusal

/** The notice above the login form: why another login has failed, or why the last session ended. */
export const loginNotice = signal<{ readonly tone: 'good' | 'bad'; readonly text: string | SsoRefusal } | undefined>(
  undefined,
)

/**
 * Called when the page opens: finishes a login at an identity provider, or resumes the session of this browser's
 * cookie.
 */
export async function begin(sso: SsoEnd | undefined): Promise<void> {
  if (sso !== undefined && 'by' in sso) loginNotice.value = { tone: 'bad', text: sso }
  try {
    if (sso === undefined || 'by' in sso) await resume()
    else await redeem(sso.via, sso.code)
  } catch (error) {
    if (sso !== undefined && 'via' in sso) loginNotice.value = { tone: 'bad', text: textOf(error) }
  }
  if (state.value === 'asking') state.value = 'out'
}

const PAGE_KEY = 'page-key'

/**
 * Returns a header that only this page can send: unlike cookies, what a page stores is not shared with other ports of
 * its host. Without it the cookie is worth nothing.
 */
function pageKey(): Readonly<Record<string, string>> {
  const key = kept(PAGE_KEY) || newKey()
  keep(PAGE_KEY, key)
  return { 'x-fulcrum-page': key }
}

/** 256 bits in hexadecimal. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(32)), (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Joins a session that another tab has opened. */
export async function resume(): Promise<void> {
  const sent = { body: {}, headers: pageKey() }
  const { data } = await ask<{ readonly token: string | null }>('POST', '/token/resume', sent)
  if (data.token === null) return
  token.hold(data.token, true)
  await enter()
}

async function redeem(via: 'saml' | 'oidc', code: string): Promise<void> {
  const { data } = await ask<{ readonly token: string }>('POST', `/${via}/token`, { body: { code } })
  token.hold(data.token, true)
  await Promise.all([keepSession(), enter()])
}

/** Removes spaces: authenticator apps show codes in groups. */
export const digitsOf = (code: string): string => code.replaceAll(/\s/g, '')

/** Resolves with `code` if a second factor is required; throws other refusals. */
export async function logIn(email: string, password: string, code: string): Promise<'in' | 'code'> {
  try {
    const digits = digitsOf(code)
    await openSession({ email: email.trim(), password, ...(digits === '' ? {} : { code: digits }) })
  } catch (error) {
    if (error instanceof Refused && error.code === 'TWO_FACTOR_REQUIRED') return 'code'
    throw error
  }
  await Promise.all([keepSession(), enter()])
  return 'in'
}

/** Renews the token, which sets the cookie for a reload of the page. */
async function keepSession(): Promise<void> {
  const { data } = await ask<{ readonly token: string }>('GET', '/token', { headers: pageKey() })
  token.hold(data.token, true)
}

async function enter(): Promise<void> {
  const me = read<Account>('/localUsers/me')
  isEntering.value = true
  try {
    const next = await me
    // Another user may have logged in where the page asked for the first user's password.
    if (account.peek() !== undefined && account.peek()?.email !== next.email) forgotten.value += 1
    account.value = next
    isLocked.value = false
    loginNotice.value = undefined
    state.value = 'in'
  } finally {
    isEntering.value = false
  }
}

export async function reloadAccount(): Promise<void> {
  account.value = await read<Account>('/localUsers/me')
}

/** Forgets the session at once: a request that is refused meanwhile would ask for the password again. */
export async function logOut(): Promise<void> {
  const ended = ask('DELETE', '/token', { body: {} })
  forget()
  await ended.catch(() => undefined)
}

export function forget(): void {
  token.hold(undefined, false)
  account.value = undefined
  isLocked.value = false
  state.value = 'out'
  forgotten.value += 1
}
