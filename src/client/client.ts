import createApi, { type Client as Api, type MaybeOptionalInit } from 'openapi-fetch'
import { follow, type StreamEvent } from './events.ts'
import { must } from './refused.ts'
import type { Credentials } from './opening.ts'
import { PAGE, type Page, records } from './pages.ts'
import { type Fetch, Sending } from './sending.ts'
import { Token } from './token.ts'

/**
 * The client of the API, for browsers and for Node 20 and later. Its methods are those of openapi-fetch over the types
 * of the OpenAPI document; it adds what every client of this API needs. Nothing here may import from Node.
 */

export type { Credentials } from './opening.ts'
export type { Fetch } from './sending.ts'
export type { StreamEvent } from './events.ts'
export { type FieldError, Foreign, must, type Refusal, Refused } from './refused.ts'

export interface ClientOptions {
  /** URL such as https://192.0.2.1:9443; '' in a page that the appliance itself serves. */
  readonly url: string
  /** An API token, or the token of a session. */
  readonly token?: string
  /** Credentials for the first login, and for another one when the session has ended. */
  readonly credentials?: () => Credentials | Promise<Credentials>
  /** Replaces the platform's `fetch`: for a self-signed certificate, see `pinnedFetch`. */
  readonly fetch?: Fetch
  /** Maximum number of attempts for a read request that gets no answer. Default: 4. */
  readonly tries_max?: number
  /** Total time for retries of a request when the API answers with Retry-After. Default: 10. */
  readonly wait_s_max?: number
  /** How long before its end the token of a session is renewed, along with the next request. Default: 600. */
  readonly renewBefore_s?: number
}

type Get<Paths, Path extends keyof Paths> = Paths[Path] extends { readonly get: infer Operation } ? Operation : never
type Content<Paths, Path extends keyof Paths> =
  Get<Paths, Path> extends { responses: { 200: { content: infer Types } } } ? Types : never

/** A record of the list at this path; never if the path has no paginated list. */
export type Listed<Paths, Path extends keyof Paths> =
  Content<Paths, Path> extends { 'application/json': infer Answer }
    ? Answer extends { data: readonly (infer One)[] }
      ? 'next' extends keyof Answer
        ? One
        : never
      : never
    : never
export type ListPath<Paths> = {
  [Path in keyof Paths]: [Listed<Paths, Path>] extends [never] ? never : Path
}[keyof Paths]
export type StreamPath<Paths> = {
  [Path in keyof Paths]: Content<Paths, Path> extends { 'text/event-stream': unknown } ? Path : never
}[keyof Paths]

type Asked<Paths, Path extends keyof Paths> = MaybeOptionalInit<Paths[Path] & object, 'get' & keyof Paths[Path]>
/** Optional if no member is required. */
type Init<Paths, Path extends keyof Paths> =
  undefined extends Asked<Paths, Path> ? [Asked<Paths, Path>?] : [Asked<Paths, Path>]

// oxlint-disable-next-line typescript/no-empty-object-type -- the bound of openapi-fetch
export interface Client<Paths extends {}> extends Pick<Api<Paths>, 'GET' | 'POST' | 'PUT' | 'DELETE'> {
  /** Token that requests carry; a page may keep it. */
  readonly token: string | undefined
  /** Opens a session for later requests, and returns the answer of POST /token. */
  logIn(credentials: Credentials): Promise<unknown>
  /** Ends the session, or the API token. */
  logOut(): Promise<void>
  /** Yields each record of a list, reading page by page as needed. */
  each<Path extends ListPath<Paths>>(path: Path, ...init: Init<Paths, Path>): AsyncGenerator<Listed<Paths, Path>, void>
  /** Yields the events of a stream until the signal is aborted; a stream that breaks off is reopened. */
  events<Path extends StreamPath<Paths>>(
    path: Path,
    signal: AbortSignal,
    ...init: Init<Paths, Path>
  ): AsyncGenerator<StreamEvent, void>
}

interface AnyInit {
  readonly params?: { readonly query?: object; readonly header?: object; readonly path?: object }
}

/** `Client` types these requests for callers; the code below uses any path. */
type AnyApi = (
  path: string,
  init: object,
) => Promise<{ readonly data?: unknown; readonly error?: unknown; readonly response: Response }>

// oxlint-disable-next-line typescript/no-empty-object-type -- the bound of openapi-fetch
export function createClient<Paths extends {}>(options: ClientOptions): Client<Paths> {
  const { url, fetch = (request: Request) => globalThis.fetch(request) } = options
  const base = `${url.replace(/\/$/, '')}/api/v1`
  const token = new Token(options.renewBefore_s)
  token.hold(options.token, false)
  const sending = new Sending({ ...options, fetch, base }, token)
  const api = createApi<Paths>({ baseUrl: base, fetch: sending.send })
  const [get, remove] = [api.GET, api.DELETE] as unknown as readonly [AnyApi, AnyApi]

  const each = (path: string, init: AnyInit = {}) =>
    records(async (after) => {
      // Without a limit, most lists are returned whole.
      const query = { limit: PAGE, ...init.params?.query, ...(after === undefined ? {} : { after }) }
      return must(await get(path, { ...init, params: { ...init.params, query } })) as Page<unknown>
    })

  const events = (path: string, signal: AbortSignal, init: AnyInit = {}) =>
    follow(async (last, attempt) => {
      const id = last === undefined ? {} : { 'Last-Event-ID': last }
      const headers = { accept: 'text/event-stream', ...id }
      const { response } = await get(path, { ...init, parseAs: 'stream', headers, signal: attempt })
      return response
    }, signal)

  return {
    GET: api.GET,
    POST: api.POST,
    PUT: api.PUT,
    DELETE: api.DELETE,
    get token() {
      return token.value
    },
    logIn: (credentials) => sending.logIn(credentials),
    logOut: async () => {
      must(await remove('/token', {}))
      token.hold(undefined, false)
    },
    each: each as Client<Paths>['each'],
    events: events as Client<Paths>['events'],
  }
}
