import { refusedWith } from './refused.ts'
import type { Token } from './token.ts'

export type Fetch = (request: Request) => Promise<Response>

export interface Credentials {
  readonly email: string
  readonly password: string
  /** Of the second factor; as a function it is asked for when the account has one. */
  readonly code?: string | (() => string | Promise<string>)
}

export interface SendingOptions {
  readonly fetch: Fetch
  readonly base: string
  /** Asked when there is no token, or the session of the token has ended. */
  readonly credentials?: (() => Credentials | Promise<Credentials>) | undefined
  /** The same request is sent so often. */
  readonly tries_max?: number | undefined
  /** Who is to come back later than that is told so. */
  readonly wait_s_max?: number | undefined
}

const TRIES_MAX = 4
const WAIT_S_MAX = 10
const BACK_OFF_MS = 250
/** Refused for now: with Retry-After, and without anything having been done. */
const LATER: ReadonlySet<number> = new Set([409, 429, 503])

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
    // Who is not known has not changed anything.
    if (response.status !== 401 || !(await this.#logInAgain(value))) return response
    await response.body?.cancel()
    return await this.#again(withToken(request, this.#token.value))
  }

  async logIn({ email, password, code }: Credentials): Promise<unknown> {
    const first = typeof code === 'string' ? code : undefined
    let response = await this.#open({ email, password, ...(first === undefined ? {} : { code: first }) })
    if (response.status === 401 && typeof code === 'function') {
      const refused = await refusedWith(response)
      if (Reflect.get(refused, 'code') !== 'TWO_FACTOR_REQUIRED') throw refused
      response = await this.#open({ email, password, code: await code() })
    }
    if (!response.ok) throw await refusedWith(response)
    const { data } = (await response.json()) as { readonly data: { readonly token: string } }
    this.#token.hold(data.token, true)
    return data
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
    const response = await this.#options.fetch(new Request(`${this.#options.base}/token`, { headers }))
    if (!response.ok) return undefined
    const { data } = (await response.json()) as { readonly data: { readonly token: string } }
    return data.token
  }

  async #again(request: Request): Promise<Response> {
    const { fetch, tries_max = TRIES_MAX, wait_s_max = WAIT_S_MAX } = this.#options
    for (let tries = 1; ; tries += 1) {
      const isLast = tries >= tries_max
      let wait_ms: number
      try {
        const response = await fetch(isLast ? request : request.clone())
        const wait_s = waitOf_s(response)
        if (isLast || !(wait_s <= wait_s_max)) return response
        await response.body?.cancel()
        wait_ms = wait_s * 1000
      } catch (error) {
        if (isLast || !mayRepeat(request, error)) throw error
        wait_ms = BACK_OFF_MS * 2 ** (tries - 1)
      }
      await pause(wait_ms, request.signal)
    }
  }
}

/** Of what was refused for the moment; else no number. */
const waitOf_s = ({ status, headers }: Response): number =>
  LATER.has(status) ? Number(headers.get('retry-after') ?? NaN) : NaN

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

/** Ends early, with the reason, when the signal is aborted. */
export function pause(wait_ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', aborted)
      resolve()
    }, wait_ms)
    if (signal?.aborted === true) aborted()
    else signal?.addEventListener('abort', aborted, { once: true })
  })
}
