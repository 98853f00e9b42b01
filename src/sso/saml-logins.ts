import { siteOf } from '../auth/place.ts'
import type { SessionData } from '../context/actor.ts'
import type { Asking } from '../context/asking.ts'
import type { FinishedLogin, Sso } from '../context/sso.ts'
import type { Clock } from '../base/clock.ts'
import { cookieValue } from '../base/cookies.ts'
import { ApiError } from '../base/errors.ts'
import { FairTurns } from '../base/fair-turns.ts'
import { type Log, strangersLog } from '../base/log.ts'
import { SHARED } from '../model/node.ts'
import type { ConfigView } from '../model/sections.ts'
import type { SamlConfig } from '../model/sign-in.ts'
import type { ComputePool } from '../threads/worker-pool.ts'
import { LoginCodes } from './login-codes.ts'
import { requestUrl } from './saml-request.ts'
import { Tickets } from './tickets.ts'

export const ACS_PATH = '/api/v1/saml/acs'
const METADATA_PATH = '/api/v1/saml/metadata'
/** Sent with the post from the identity provider's page, hence SameSite=None. */
const COOKIE = '__Host-fulcrum-saml'
const LOGIN_MS = 10 * 60_000
/** Maximum number of wrong answers per login. */
const FAILURES_MAX = 5

export interface SamlParts {
  readonly running: ConfigView
  readonly compute: ComputePool
  readonly clock: Clock
  readonly log: Log
  readonly login: { admitted(email: string, via: 'saml', address: string): Promise<SessionData> }
}

/**
 * Logins through an identity provider (SAML 2.0 web browser profile, requests by redirect, answers by post). An answer
 * is valid only in the browser that began the login, and once; that browser gets a code, which opens a session.
 */
export class SamlLogins implements Sso {
  readonly #parts: SamlParts
  readonly #log: Log
  readonly #tickets: Tickets
  /** Parsing XML takes time, and anybody may send some. */
  readonly #turns = new FairTurns({
    concurrent: 1,
    waitingEach_max: 16,
    waiting_max: 256,
    busy: 'Too many logins at once; go back and try again in a few seconds',
  })
  readonly #written = new WeakMap<SamlConfig, Promise<string>>()
  /** E-mail addresses by code. */
  readonly #codes: LoginCodes<string>

  constructor(parts: SamlParts) {
    this.#parts = parts
    // Anybody may begin logins, and send answers.
    this.#log = strangersLog(parts.log, parts.clock)
    this.#tickets = new Tickets(parts.clock, LOGIN_MS, FAILURES_MAX)
    this.#codes = new LoginCodes(parts.clock)
  }

  #config(): SamlConfig {
    const config = this.#parts.running.get('samlConfigs', SHARED)
    if (config?.enabled === true) return config
    throw new ApiError('NOT_FOUND', 'Single sign-on is not configured: PUT /saml/config')
  }

  begin(isForPage: boolean): { readonly location: string; readonly cookie: string } {
    const { requestId, ticket } = this.#tickets.issue(isForPage)
    const at = new Date(this.#parts.clock.now_ms()).toISOString()
    const location = requestUrl({ ...partiesOf(this.#config()), requestId, at })
    const cookie = `${COOKIE}=${ticket}; Path=/; Secure; HttpOnly; SameSite=None; Max-Age=${LOGIN_MS / 1000}`
    return { location, cookie }
  }

  /** Cached while the configuration is unchanged. */
  async metadata(): Promise<string> {
    const config = this.#config()
    const known = this.#written.get(config)
    if (known !== undefined) return known
    const written = this.#parts.compute.run('samlMetadata', partiesOf(config))
    this.#written.set(config, written)
    written.catch(() => this.#written.delete(config))
    return written
  }

  async finish({ client: { address } }: Asking, response: string, cookies: string): Promise<FinishedLogin> {
    const config = this.#config()
    const parties = partiesOf(config)
    const ticket = cookieValue(cookies, COOKIE)
    const requestId = this.#tickets.requestOf(ticket)
    if (requestId === undefined) {
      throw new ApiError('INVALID_CREDENTIALS', 'This browser did not start a login, or took too long: GET /saml/login')
    }
    const verdict = await this.#turns.run(siteOf(address), () =>
      this.#parts.compute.run('judgeSaml', { parties, requestId, response }),
    )
    if ('problem' in verdict) {
      this.#tickets.failed(requestId)
      this.#log.warn('answer of the identity provider refused', {
        address,
        reason: verdict.problem.slice(0, 200),
      })
      throw new ApiError('INVALID_CREDENTIALS', 'The answer of the identity provider is not valid; see the log')
    }
    // The ticket is used up only now: a post by anybody must not end a login under way.
    if (!this.#tickets.use(requestId)) throw new ApiError('INVALID_CREDENTIALS', 'This answer was already used')
    const isForPage = this.#tickets.issued(ticket)?.isForPage === true
    return { code: this.#codes.keep(verdict.email, config, isForPage ? requestId : ''), isForPage }
  }

  async redeem({ client }: Asking, code: string, cookies: string): Promise<SessionData> {
    const config = this.#config()
    const begun = this.#tickets.issued(cookieValue(cookies, COOKIE))
    return this.#parts.login.admitted(this.#codes.redeem(code, config, begun?.requestId), 'saml', client.address)
  }
}

/** Returns the names and addresses of both sides. */
export function partiesOf(config: SamlConfig) {
  const { baseUrl, idpEntityId, idpSsoUrl, idpCertificates, emailAttribute } = config
  const places = { entityId: `${baseUrl}${METADATA_PATH}`, acsUrl: `${baseUrl}${ACS_PATH}` }
  return { ...places, idpEntityId, idpSsoUrl, idpCertificates, emailAttribute }
}
