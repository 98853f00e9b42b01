import type { Introduction } from '../auth/introduction.ts'
import { siteOf } from '../auth/place.ts'
import type { Clock } from '../base/clock.ts'
import { cookieValue } from '../base/cookies.ts'
import { ApiError } from '../base/errors.ts'
import { FairTurns } from '../base/fair-turns.ts'
import { type Log, strangersLog } from '../base/log.ts'
import { sameText } from '../base/same-text.ts'
import type { SessionData } from '../context/actor.ts'
import type { Asking } from '../context/asking.ts'
import type { FinishedLogin, Oidc } from '../context/sso.ts'
import { SHARED } from '../model/node.ts'
import type { ConfigView } from '../model/sections.ts'
import type { OidcConfig } from '../model/sign-in.ts'
import { LoginCodes } from './login-codes.ts'
import { type LoggedIn, type LoginMarks, OidcProvider } from './oidc-provider.ts'
import { Tickets } from './tickets.ts'

/** Sent when the provider sends the browser back, which is a GET: hence SameSite=Lax. */
const COOKIE = '__Host-fulcrum-oidc'
const LOGIN_MS = 10 * 60_000
/** Maximum number of wrong answers per login. */
const FAILURES_MAX = 5
const ANSWER_WITHIN_MS = 10_000

export interface OidcParts {
  readonly running: ConfigView
  readonly clock: Clock
  readonly log: Log
  readonly allowsLoopback: boolean
  readonly login: {
    admitted(email: string, via: 'oidc', address: string, introduction?: Introduction): Promise<SessionData>
  }
  /** Time limit for one answer of the provider. */
  readonly within_ms?: number
}

/**
 * Logins through an OpenID provider (authorization code flow with PKCE). As with SAML, an answer is valid only in the
 * browser that began the login, and once; that browser gets a code, which opens a session.
 */
export class OidcLogins implements Oidc {
  readonly #parts: OidcParts
  readonly #log: Log
  readonly #tickets: Tickets
  /** Each login queries the provider, which may be slow. */
  readonly #turns = new FairTurns({
    concurrent: 16,
    waitingEach_max: 16,
    waiting_max: 256,
    busy: 'Too many logins at once; go back and try again in a few seconds',
  })
  /** A changed configuration has a provider without earlier state. */
  readonly #providers = new WeakMap<OidcConfig, OidcProvider>()
  readonly #codes: LoginCodes<LoggedIn>

  constructor(parts: OidcParts) {
    this.#parts = parts
    // Anybody may begin logins, and send answers.
    this.#log = strangersLog(parts.log, parts.clock)
    this.#tickets = new Tickets(parts.clock, LOGIN_MS, FAILURES_MAX)
    this.#codes = new LoginCodes(parts.clock)
  }

  #provider(): OidcProvider {
    const config = this.#parts.running.get('oidcConfigs', SHARED)
    if (config?.enabled !== true) throw new ApiError('NOT_FOUND', 'OpenID Connect is not configured: PUT /oidc/config')
    const { clock, allowsLoopback, within_ms = ANSWER_WITHIN_MS } = this.#parts
    const provider = this.#providers.get(config) ?? new OidcProvider({ config, clock, allowsLoopback, within_ms })
    this.#providers.set(config, provider)
    return provider
  }

  async begin(isForPage: boolean): Promise<{ readonly location: string; readonly cookie: string }> {
    const provider = this.#provider()
    const { requestId, ticket } = this.#tickets.issue(isForPage)
    try {
      const location = await provider.loginUrl(this.#marksOf(requestId))
      const cookie = `${COOKIE}=${ticket}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=${LOGIN_MS / 1000}`
      return { location, cookie }
    } catch (error) {
      this.#log.error('the OpenID provider cannot be reached', { reason: reasonOf(error) })
      throw new ApiError('INVALID_CREDENTIALS', 'The identity provider does not answer correctly; see the log')
    }
  }

  async finish({ client: { address } }: Asking, answer: URLSearchParams, cookies: string): Promise<FinishedLogin> {
    const provider = this.#provider()
    const ticket = cookieValue(cookies, COOKIE)
    const requestId = this.#tickets.requestOf(ticket)
    if (requestId === undefined || !sameText(answer.get('state') ?? '', requestId)) {
      throw new ApiError(
        'INVALID_CREDENTIALS',
        'This browser did not start this login, or took too long: GET /oidc/login',
      )
    }
    const who = await this.#turns.run(siteOf(address), () => this.#judged(provider, answer, requestId, address))
    // The ticket is used up only now, so that a login survives a failure of the provider.
    if (!this.#tickets.use(requestId)) throw new ApiError('INVALID_CREDENTIALS', 'This answer was already used')
    const isForPage = this.#tickets.issued(ticket)?.isForPage === true
    return { code: this.#codes.keep(who, provider, isForPage ? requestId : ''), isForPage }
  }

  async #judged(provider: OidcProvider, answer: URLSearchParams, requestId: string, address: string) {
    try {
      return await provider.loggedIn(answer, this.#marksOf(requestId))
    } catch (error) {
      this.#tickets.failed(requestId)
      this.#log.warn('answer of the OpenID provider refused', { address, reason: reasonOf(error) })
      throw new ApiError('INVALID_CREDENTIALS', 'The answer of the identity provider is not valid; see the log')
    }
  }

  /** Derives all marks from the request, so that nothing is stored for logins under way. */
  #marksOf(requestId: string): LoginMarks {
    return {
      state: requestId,
      nonce: this.#tickets.derived(requestId, 'nonce'),
      verifier: this.#tickets.derived(requestId, 'verifier'),
    }
  }

  async redeem({ client }: Asking, code: string, cookies: string): Promise<SessionData> {
    const provider = this.#provider()
    const begun = this.#tickets.issued(cookieValue(cookies, COOKIE))
    const { email, introduction } = this.#codes.redeem(code, provider, begun?.requestId)
    return this.#parts.login.admitted(email, 'oidc', client.address, introduction)
  }
}

/**
 * Returns a library's message, with the error that the provider named; causes are left out, as they contain whole
 * answers.
 */
function reasonOf(error: unknown): string {
  const [said, named] = [Reflect.get(Object(error), 'message'), Reflect.get(Object(error), 'error')]
  return `${String(said)}${typeof named === 'string' ? `: ${named}` : ''}`.slice(0, 200)
}
