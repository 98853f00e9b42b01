import type * as OAuth from 'oauth4webapi'
import { type Introduction, introductionIn } from '../auth/introduction.ts'
import type { Clock } from '../base/clock.ts'
import type { OidcConfig } from '../model/sign-in.ts'
import { doorTo } from './provider-door.ts'

export const CALLBACK_PATH = '/api/v1/oidc/callback'
/** Accepted signatures: with keys that the provider publishes, never none, and never a shared secret. */
const ALGORITHMS: readonly string[] = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519']
/** How long the provider's metadata is cached. */
const KNOWN_MS = 3_600_000
/** How long a silent provider is not queried again, because anybody may begin logins. */
const SILENT_MS = 2_000
/** Minimum time between two fetches of keys, despite unknown keys. */
const KEYS_MS = 10_000
/** Allowed difference of clocks. */
const SKEW_S = 60
/** A token is made for this login, and so is not older than a login may be. */
const TOKEN_AGE_S = 660

export interface ProviderParts {
  readonly config: OidcConfig
  readonly clock: Clock
  readonly allowsLoopback: boolean
  readonly within_ms: number
}

/** The marks of one login. */
export interface LoginMarks {
  readonly state: string
  readonly nonce: string
  /** For PKCE: proves that the login began here. */
  readonly verifier: string
}

/** A user who has logged in at the provider. */
export interface LoggedIn {
  readonly email: string
  /** Undefined if only local users are admitted. */
  readonly introduction: Introduction | undefined
}

interface Known {
  readonly server: Promise<OAuth.AuthorizationServer>
  readonly until_ms: number
}

/** One identity provider with one configuration: its address, its keys, and the meaning of its answers. */
export class OidcProvider {
  readonly #parts: ProviderParts
  readonly #ask: ReturnType<typeof doorTo>
  #known: Known | undefined
  /** The library caches keys by this object: a new object has none yet. */
  #keysOf: OAuth.AuthorizationServer | undefined
  #keysUntil_ms = 0

  constructor(parts: ProviderParts) {
    this.#parts = parts
    this.#ask = doorTo({ ...parts, caCertificate: parts.config.caCertificate })
  }

  /** Returns where to send a browser to log in. */
  async loginUrl({ state, nonce, verifier }: LoginMarks): Promise<string> {
    const oauth = await import('oauth4webapi')
    const { config } = this.#parts
    const { authorization_endpoint: endpoint = '' } = await this.#server(oauth)
    const url = new URL(endpoint)
    if (url.protocol !== 'https:') throw new Error('authorization_endpoint is not https')
    const asked = {
      response_type: 'code',
      client_id: config.clientId,
      redirect_uri: `${config.baseUrl}${CALLBACK_PATH}`,
      scope: config.scopes.join(' '),
      state,
      nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }
    for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value)
    return url.href
  }

  /** Returns the user who has logged in there. Throws with the reason if anything is wrong with the answer. */
  async loggedIn(answer: URLSearchParams, { state, nonce, verifier }: LoginMarks): Promise<LoggedIn> {
    const oauth = await import('oauth4webapi')
    const { config } = this.#parts
    const server = await this.#server(oauth)
    const client: OAuth.Client = { client_id: config.clientId, [oauth.clockTolerance]: SKEW_S }
    const judged = oauth.validateAuthResponse(server, client, answer, state)
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      authenticationOf(oauth, server, config.clientSecret),
      judged,
      `${config.baseUrl}${CALLBACK_PATH}`,
      verifier,
      this.#options(oauth),
    )
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: nonce,
      requireIdToken: true,
    })
    // TLS proves the same; the signature is checked all the same.
    await this.#verify(oauth, server, response)
    const claims = oauth.getValidatedIdTokenClaims(tokens)
    if (claims === undefined) throw new Error('there is no ID token')
    const email = emailIn(claims, config, this.#parts.clock.now_ms() / 1000)
    return { email, introduction: introductionIn(claims, email, config) }
  }

  #options(oauth: typeof OAuth) {
    return { [oauth.customFetch]: this.#ask }
  }

  async #verify(oauth: typeof OAuth, server: OAuth.AuthorizationServer, response: Response): Promise<void> {
    const now_ms = this.#parts.clock.monotonic_ms()
    if (this.#keysOf === undefined) this.#fetchAnew(server, now_ms)
    try {
      await oauth.validateApplicationLevelSignature(this.#keysOf ?? server, response, this.#options(oauth))
    } catch (error) {
      if (!(error instanceof oauth.OperationProcessingError) || error.code !== oauth.KEY_SELECTION) throw error
      // Keys are rotated; but tokens with unknown keys must not cause a flood of requests.
      if (now_ms < this.#keysUntil_ms) throw error
      await oauth.validateApplicationLevelSignature(this.#fetchAnew(server, now_ms), response, this.#options(oauth))
    }
  }

  #fetchAnew(server: OAuth.AuthorizationServer, now_ms: number): OAuth.AuthorizationServer {
    this.#keysUntil_ms = now_ms + KEYS_MS
    return (this.#keysOf = { ...server })
  }

  #server(oauth: typeof OAuth): Promise<OAuth.AuthorizationServer> {
    const now_ms = this.#parts.clock.monotonic_ms()
    if (this.#known !== undefined && this.#known.until_ms > now_ms) return this.#known.server
    const server = this.#discovered(oauth)
    this.#known = { server, until_ms: now_ms + KNOWN_MS }
    server.then(
      () => (this.#keysOf = undefined),
      () => (this.#known = { server, until_ms: this.#parts.clock.monotonic_ms() + SILENT_MS }),
    )
    return server
  }

  async #discovered(oauth: typeof OAuth): Promise<OAuth.AuthorizationServer> {
    const issuer = new URL(this.#parts.config.issuer)
    const response = await oauth.discoveryRequest(issuer, { algorithm: 'oidc', ...this.#options(oauth) })
    const server = await oauth.processDiscoveryResponse(issuer, response)
    // The accepted signatures are decided here, whatever else the provider supports.
    return { ...server, id_token_signing_alg_values_supported: [...ALGORITHMS] }
  }
}

/** Returns how the client authenticates: in a way that the provider accepts, or not at all without a secret. */
function authenticationOf(oauth: typeof OAuth, server: OAuth.AuthorizationServer, secret: string): OAuth.ClientAuth {
  if (secret === '') return oauth.None()
  const taken = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  const isPost = !taken.includes('client_secret_basic') && taken.includes('client_secret_post')
  return isPost ? oauth.ClientSecretPost(secret) : oauth.ClientSecretBasic(secret)
}

/**
 * Performs the checks that the library leaves to its user: the token's age, the party it was made for, and the owner of
 * the e-mail address.
 */
function emailIn(claims: OAuth.IDToken, { clientId, emailClaim }: OidcConfig, now_s: number): string {
  if (claims.azp !== undefined && claims.azp !== clientId) throw new Error('azp names another client')
  if (claims.iat > now_s + SKEW_S) throw new Error('iat is in the future')
  if (claims.iat < now_s - TOKEN_AGE_S) throw new Error('iat is too long ago')
  const email = claims[emailClaim]
  if (typeof email !== 'string' || email === '') throw new Error(`the claim ${emailClaim} is not a string`)
  if (isUnverified(claims['email_verified'])) throw new Error('email_verified is false')
  return email
}

/** Some providers write it as text. A provider that leaves it out has no addresses that users enter themselves. */
const isUnverified = (said: unknown): boolean => said !== undefined && said !== true && said !== 'true'
