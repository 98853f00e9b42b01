import { type Credentials, opened } from './opening.ts'
import type { Token } from './token.ts'
import { type Bounds, tried } from './trying.ts'

export type Fetch = (request: Request) => Promise<Response>

export interface SendingOptions extends Bounds {
  readonly fetch: Fetch
  readonly base: string
  /** Called when there is no token, or the session has ended. */
  readonly credentials?: (() => Credentials | Promise<Credentials>) | undefined
}

/** All requests wait while a token is renewed; this limits the wait on a connection that was cut without notice. */
const RENEW_MS_MAX = 10_000

/** Sends requests with the token, and retries those that cannot do anything twice. */
export class Sending {
  readonly #options: SendingOptions
  readonly #token: Token
  #loggingIn: Promise<unknown> | undefined

  constructor(options: SendingOptions, token: Token) {
    this.#options = options
    this.#token = token
  }

  /** Like `fetch`, for requests to the API. */
  readonly send = async (request: Request): Promise<Response> => {
    if (request.headers.has('authorization')) return await this.#again(request)
    await this.#token.renewed((token) => this.#renew(token))
    if (this.#token.value === undefined) await this.#logInAgain(undefined)
    const { value } = this.#token
    const response = await this.#again(withToken(request, value))
    // The API changes nothing for an unauthenticated caller, so the request may be repeated.
    if (!(await isUnknown(response)) || !(await this.#logInAgain(value))) return response
    await response.body?.cancel()
    return await this.#again(withToken(request, this.#token.value))
  }

  async logIn(credentials: Credentials): Promise<unknown> {
    const session = await opened((body) => this.#open(body), credentials)
    this.#token.hold(session.token, true)
    return session
  }

  /** Returns whether there is a new token. */
  async #logInAgain(before: string | undefined): Promise<boolean> {
    const { credentials } = this.#options
    if (credentials === undefined) return false
    if (this.#token.value === before) {
      this.#loggingIn ??= Promise.resolve(credentials())
        .then((known) => this.logIn(known))
        .finally(() => (this.#loggingIn = undefined))
      await this.#loggingIn
    }
    return this.#token.value !== before
  }

  #open(body: object): Promise<Response> {
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return this.#again(new Request(`${this.#options.base}/token`, init))
  }

  async #renew(token: string): Promise<string | undefined> {
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json' }
    const asked = new Request(`${this.#options.base}/token`, { headers, signal: AbortSignal.timeout(RENEW_MS_MAX) })
    const response = await this.#options.fetch(asked)
    if (!response.ok) return undefined
    const { data } = (await response.json()) as { readonly data: { readonly token: string } }
    return data.token
  }

  #again(request: Request): Promise<Response> {
    const { fetch, tries_max, wait_s_max } = this.#options
    return tried(() => fetch(request.clone()), {
      mayRepeat: (error) => mayRepeat(request, error),
      signal: request.signal,
      tries_max,
      wait_s_max,
    })
  }
}

/**
 * Returns whether the session has ended. The status alone does not tell: a wrong current password, when users change
 * theirs, is 401 as well.
 */
async function isUnknown(response: Response): Promise<boolean> {
  if (response.status !== 401) return false
  const told: unknown = await response
    .clone()
    .json()
    .catch(() => undefined)
  return ['UNAUTHENTICATED', 'TOKEN_EXPIRED'].includes(Reflect.get(Object(told), 'code'))
}

/**
 * Returns whether a request may be repeated although it may have been carried out: reads may. `fetch` throws a
 * TypeError when there was no answer.
 */
const mayRepeat = ({ method, signal }: Request, error: unknown): boolean =>
  (method === 'GET' || method === 'HEAD') && error instanceof TypeError && !signal.aborted

function withToken(request: Request, token: string | undefined): Request {
  const copy = request.clone()
  if (token !== undefined) copy.headers.set('authorization', `Bearer ${token}`)
  return copy
}
