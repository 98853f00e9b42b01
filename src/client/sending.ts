import { type Credentials, opened } from './opening.ts'
import type { Token } from './token.ts'
import { type Bounds, tried } from './trying.ts'

export type Fetch = (request: Request) => Promise<Response>

export interface SendingOptions extends Bounds {
  readonly fetch: Fetch
  readonly base: string
  /** Asked when there is no token, or the session of the token has ended. */
  readonly credentials?: (() => Credentials | Promise<Credentials>) | undefined
}

/** All requests wait for a token that is renewed: on a connection that was cut without a word, no longer than this. */
const RENEW_MS_MAX = 10_000

/** Sends requests with the token, again where that cannot do anything twice. */
export class Sending {
  readonly #options: SendingOptions
  readonly #token: Token
  #loggingIn: Promise<unknown> | undefined

  constructor(options: SendingOptions, token: Token) {
    this.#options = options
    this.#token = token
  }

  /** As `fetch`, for requests of the API. */
  readonly send = async (request: Request): Promise<Response> => {
    if (request.headers.has('authorization')) return await this.#again(request)
    await this.#token.renewed((token) => this.#renew(token))
    if (this.#token.value === undefined) await this.#logInAgain(undefined)
    const { value } = this.#token
    const response = await this.#again(withToken(request, value))
    // A caller that is not known has not changed anything.
    if (!(await isUnknown(response)) || !(await this.#logInAgain(value))) return response
    await response.body?.cancel()
    return await this.#again(withToken(request, this.#token.value))
  }

  async logIn(credentials: Credentials): Promise<unknown> {
    const session = await opened((body) => this.#open(body), credentials)
    this.#token.hold(session.token, true)
    return session
  }

  /** True when there is another token than before. */
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

/** Whether the session has ended: a wrong password, for another one of one's own, is 401 as well. */
async function isUnknown(response: Response): Promise<boolean> {
  if (response.status !== 401) return false
  const told: unknown = await response
    .clone()
    .json()
    .catch(() => undefined)
  return ['UNAUTHENTICATED', 'TOKEN_EXPIRED'].includes(Reflect.get(Object(told), 'code'))
}

/**
 * Whether a request may be sent again of which nobody knows whether it was carried out: what only reads may. `fetch`
 * throws a TypeError when there was no answer.
 */
const mayRepeat = ({ method, signal }: Request, error: unknown): boolean =>
  (method === 'GET' || method === 'HEAD') && error instanceof TypeError && !signal.aborted

function withToken(request: Request, token: string | undefined): Request {
  const copy = request.clone()
  if (token !== undefined) copy.headers.set('authorization', `Bearer ${token}`)
  return copy
}
