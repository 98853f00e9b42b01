import { effect, signal, untracked } from '@preact/signals'
import { ask, isLocked, read, Refused, openSession, textOf, token } from './api.ts'

/** Who is logged in, and how that begins and ends. */

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
  /** Id of the daemon that answers the page. */
  readonly nodeId: string
  /** Ids of what the own roles grant. */
  readonly endpoints: readonly string[]
}

export interface LoginOptions {
  readonly ssoEnforced: boolean
  readonly samlConfigured: boolean
  readonly samlEnforced: boolean
  readonly oidcConfigured: boolean
  readonly oidcEnforced: boolean
}

/** `asking`: whether this browser still has a session is being found out. */
export const state = signal<'asking' | 'out' | 'in'>('asking')
export const account = signal<Account | undefined>(undefined)
/** There is a session, and whose it is is being asked: what the first screen shows can be asked for meanwhile. */
export const isEntering = signal(false)

/** Rises when a user logs out, or another one comes: what one person saw and typed is not for the next. */
export const forgotten = signal(0)

/** Runs `clear` each time. */
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
/** What a login at an identity provider ends with: a code that opens a session, or a refusal. */
export type SsoEnd = { readonly via: 'saml' | 'oidc'; readonly code: string } | SsoRefusal

/** What is told before somebody logs in: why another login has opened no session, or what ended the last one. */
export const loginNotice = signal<{ readonly tone: 'good' | 'bad'; readonly text: string | SsoRefusal } | undefined>(
  undefined,
)

/** When the page opens: after a login at an identity provider, or where the cookie of this browser is of a session. */
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

/** A session that another tab has opened is one of this tab as well. */
export async function resume(): Promise<void> {
  const { data } = await ask<{ readonly token: string | null }>('POST', '/token/resume', { body: {} })
  if (data.token === null) return
  token.hold(data.token, true)
  await enter()
}

async function redeem(via: 'saml' | 'oidc', code: string): Promise<void> {
  const { data } = await ask<{ readonly token: string }>('POST', `/${via}/token`, { body: { code } })
  token.hold(data.token, true)
  await Promise.all([keepSession(), enter()])
}

/** Apps show codes in groups, with a space between them. */
export const digitsOf = (code: string): string => code.replaceAll(/\s/g, '')

/** Answers `code` where a second factor is asked for; throws what else is wrong. */
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

/** Renewing a token sets the cookie that a reload of the page comes back with. */
async function keepSession(): Promise<void> {
  token.hold((await read<{ readonly token: string }>('/token')).token, true)
}

async function enter(): Promise<void> {
  const me = read<Account>('/localUsers/me')
  isEntering.value = true
  try {
    const next = await me
    // Another person may log in where the page waits for somebody's password.
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

/** At once: a request that is refused meanwhile would ask for the password of a session that nobody wants back. */
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
