import { join } from 'node:path'
import type { ConfigStore, RecordKey, Revision } from '../../storage/config/config-store.ts'
import type { Actor } from '../context/actor.ts'
import type { Endpoint } from '../api/endpoint.ts'
import type { Clock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import { type Log, strangersLog } from '../base/log.ts'
import type { ConfigView, RecordChange, Touched } from '../model/sections.ts'
import { recordChanges } from '../config/views.ts'
import { confinable } from '../model/confined.ts'
import { Account } from './account.ts'
import { ApiTokens, isOfToken, TOKEN_SESSION } from './api-tokens.ts'
import type { ExternalLogin } from './external-login.ts'
import { FirstPassword } from './first-password.ts'
import { type FirstAdministrator, prepareAccess } from './first-start.ts'
import { Lockout } from './lockout.ts'
import { type Amend, Login } from './login.ts'
import { Passwords } from './password.ts'
import { Area } from '../rules/confined.ts'
import { IN_PART, Permissions, type Rights, WHOLLY } from './permissions.ts'
import { localUser, OF_USERS } from './principal.ts'
import { Principals } from './principals.ts'
import { SecondFactors } from './second-factors.ts'
import { type Session, Sessions } from './sessions.ts'
import { Tokens } from './token.ts'

export interface AccessParts {
  readonly store: ConfigStore
  readonly running: ConfigView
  readonly endpoints: readonly Endpoint[]
  readonly stateFolder: string
  readonly clock: Clock
  readonly log: Log
  readonly administrator: { readonly email: string; readonly password: string | undefined }
  readonly external: ExternalLogin
  readonly amend: Amend
}

/** Tokens whose compiled rights are cached; a little more than a kilobyte each. */
const NARROWED_MAX = 2000

/** A caller that another node vouches for: that node has checked the session, or the token and its limits. */
type Vouched = Pick<Actor, 'userId' | 'sessionId'> & { readonly endpoints?: readonly string[] }

type Caller = Pick<Actor, 'userId' | 'sessionId'>

interface Admitted {
  readonly rights: Rights
  readonly sessionId: string
}

/** Authentication and authorisation: combines the parts of access control. */
export class AccessControl {
  readonly passwords: Passwords
  /** A separate queue for passwords that administrators set, so that a flood of logins does not delay them. */
  readonly hashing = new Passwords()
  readonly sessions: Sessions
  readonly tokens: Tokens
  readonly login: Login
  readonly account: Account
  /** Set if this start created the first administrator. */
  readonly firstAdministrator: FirstAdministrator | undefined
  readonly #apiTokens: ApiTokens
  readonly #factors: SecondFactors
  readonly #permissions: Permissions
  readonly #principals: Principals
  readonly #running: ConfigView
  /** By the session id of a token: the rights `of` its user, and those narrowed to the token. */
  readonly #narrowed = new Map<string, { readonly of: Rights; readonly rights: Rights }>()
  /** Index of each endpoint in the table. */
  readonly #places: ReadonlyMap<string, number>
  /**
   * The newest revision at this start, until the sessions that it should have ended are ended: a crash may have
   * prevented that.
   */
  #found: Revision | undefined

  private constructor(parts: AccessParts, passwords: Passwords, first: FirstAdministrator | undefined) {
    const { store, running, endpoints, stateFolder, clock, log, amend } = parts
    this.passwords = passwords
    this.firstAdministrator = first
    this.tokens = new Tokens(join(stateFolder, 'token-key.pem'))
    this.sessions = new Sessions(store.sessions, store.owed, this.tokens, clock)
    this.#apiTokens = new ApiTokens(store.apiTokens, store.owed, clock)
    const factors = new SecondFactors(store.signIns, store.owed, clock)
    this.#factors = factors
    const { sessions } = this
    const principals = new Principals(running, (userId) => sessions.introductionOf(userId))
    this.#principals = principals
    const shared = { running, principals, clock, log, passwords, lockout: new Lockout(clock), factors, amend }
    const firstPassword = new FirstPassword(stateFolder)
    this.login = new Login({
      ...shared,
      log: strangersLog(log, clock),
      sessions,
      external: parts.external,
      firstPassword,
    })
    const grantedTo = (actor: Actor) => this.#permissions.told(this.#rightsOf(actor))
    this.account = new Account({ ...shared, sessions, tokens: this.#apiTokens, grantedTo })
    this.#running = running
    this.#permissions = new Permissions(endpoints, running, principals)
    store.follow((key) => this.#onChanged(key))
    this.#places = new Map(endpoints.map(({ name }, place) => [name, place]))
    this.#found = store.revisions(1)[0]
  }

  static async open(parts: AccessParts): Promise<AccessControl> {
    const passwords = new Passwords()
    const first = await prepareAccess(parts.store, passwords, parts.clock, parts.administrator)
    return new AccessControl(parts, passwords, first)
  }

  /**
   * Ends the sessions that an apply should have ended before a crash. Called once the node orders its entries with its
   * cluster: the others would not get what it wrote alone.
   */
  async endNobodys(): Promise<void> {
    const changes = this.#found === undefined ? [] : recordChanges(this.#found)
    const at_ms = Date.parse(this.#found?.at ?? '')
    const ended = new Set(changes.filter(endsSessions).map(({ id }) => id))
    // Sessions created since then used the new password.
    const isOlder = ({ userId, createdAt_ms }: Session) => ended.has(userId) && createdAt_ms < at_ms
    await this.sessions.end((session) => this.#isNobody(session) || isOlder(session))
    await this.#revokeOf(changes)
    this.#found = undefined
  }

  /** Tells the other nodes what has ended, or was used, on this node without a quorum. */
  async payOwed(): Promise<void> {
    await this.sessions.end(() => false)
    await this.#apiTokens.payOwed()
    await this.#factors.payOwed()
  }

  /** Whether the user is gone or disabled, or nobody vouches for the user any more. */
  #isNobody({ userId, introduction, via = 'password' }: Session): boolean {
    return this.#principals.of(userId, introduction)?.disabled !== false || !this.#principals.isOn(via)
  }

  authenticate(proof: string | Vouched): Admitted | ApiError {
    if (typeof proof !== 'string') return this.#vouchedFor(proof)
    if (ApiTokens.isOne(proof)) return this.#ofProgram(proof)
    const session = this.sessions.authenticate(proof)
    if (session === 'expired') return new ApiError('TOKEN_EXPIRED', 'The token has expired; log in again')
    if (session === 'invalid')
      return new ApiError('UNAUTHENTICATED', 'This token was not issued by this daemon; log in')
    const rights = this.#permissions.of(session.userId)
    if (rights === undefined) return nobodyAnyMore()
    const sessionId = session.id
    // Until the second factor is set up, only the user's own account is accessible.
    return session.isLimited === true
      ? { rights: { ...rights, granted: new Uint8Array(rights.granted.length), mustEnrol: true }, sessionId }
      : { rights, sessionId }
  }

  /** Returns whether it is a genuine token; this node may not know its session yet, which began on another node. */
  isIssued(proof: string | Vouched): boolean {
    return typeof proof === 'string' && this.sessions.isIssued(proof)
  }

  /** Returns the Unix time in ms; 0 if the proof is no longer valid, or is not a user's or program's token. */
  expiryOf(proof: string | Vouched): number {
    if (typeof proof !== 'string') return 0
    return ApiTokens.isOne(proof) ? this.#apiTokens.expiryOf(proof) : this.sessions.expiryOf(proof)
  }

  #ofProgram(token: string): Admitted | ApiError {
    const known = this.#apiTokens.authenticate(token)
    if (known === undefined)
      return new ApiError('UNAUTHENTICATED', 'This API token was revoked, has expired or never existed')
    const of = this.#permissions.of(known.userId)
    if (of === undefined) return nobodyAnyMore()
    return this.#withToken(of, `${TOKEN_SESSION}${known.id}`, known.endpoints)
  }

  /** The rights of the user are determined on this node. */
  #vouchedFor({ userId, sessionId, endpoints }: Vouched): Admitted | ApiError {
    const of = this.#permissions.of(userId)
    if (of === undefined) return nobodyAnyMore()
    return isOfToken(sessionId) ? this.#withToken(of, sessionId, endpoints) : { rights: of, sessionId }
  }

  #withToken(of: Rights, sessionId: string, endpoints: readonly string[] | undefined): Admitted {
    const cached = this.#narrowed.get(sessionId)
    if (cached?.of === of && isSameList(cached.rights.endpoints, endpoints)) return { rights: cached.rights, sessionId }
    const rights = this.#permissions.narrowed(of, endpoints)
    // This also drops entries of revoked tokens.
    if (this.#narrowed.size >= NARROWED_MAX) this.#narrowed.clear()
    this.#narrowed.set(sessionId, { of, rights })
    return { rights, sessionId }
  }

  /**
   * Returns whether the caller may use the named endpoint; a token allows no more than it was made for. A confined
   * right counts only together with `touched`.
   */
  may(asking: Caller, endpoint: string, touched?: Touched): boolean {
    const place = this.#placeOf(endpoint)
    const rights = this.#rightsOf(asking)
    const flag = rights?.granted[place]
    if (touched === undefined || flag !== IN_PART) return flag === WHOLLY
    return rights?.areas?.get(place)?.holds(touched) === true
  }

  /**
   * Returns the area to which the right for the endpoint is confined; undefined if it is not confined. The area is
   * empty if the right was taken away since the request was admitted.
   */
  areaOf(asking: Caller, endpoint: string): Area | undefined {
    const place = this.#placeOf(endpoint)
    const rights = this.#rightsOf(asking)
    const section = confinable(endpoint)
    if (rights?.granted[place] === WHOLLY || section === undefined) return undefined
    return rights?.areas?.get(place) ?? new Area(section, [])
  }

  /**
   * Returns whether any right of the caller is confined. True for a caller without rights, so that all of its edits are
   * judged.
   */
  isConfined(asking: Caller): boolean {
    const rights = this.#rightsOf(asking)
    return rights === undefined || rights.areas !== undefined
  }

  #placeOf(endpoint: string): number {
    const place = this.#places.get(endpoint)
    if (place === undefined) throw new Error(`there is no endpoint named ${endpoint}`)
    return place
  }

  /** Returns the present rights: they may change while a request waits. */
  #rightsOf({ userId, sessionId }: Caller): Rights | undefined {
    const of = this.#permissions.of(userId)
    if (of === undefined || this.sessions.isLimited(sessionId)) return undefined
    if (!isOfToken(sessionId)) return of
    const limits = this.#narrowed.get(sessionId)?.rights ?? this.#apiTokens.find(sessionId.slice(TOKEN_SESSION.length))
    return limits === undefined ? undefined : this.#withToken(of, sessionId, limits.endpoints).rights
  }

  /**
   * Refuses a request that a caller made earlier if the caller is gone or disabled, or has lost a right or the token
   * since. `touched` is the record that the rights are used for.
   */
  assertStill({ userId, email, sessionId }: Actor, wanted: readonly string[], touched?: Touched): void {
    const of = this.#permissions.of(userId === '' ? (this.#idOf(email) ?? '') : userId)
    const refuse = (why: string) => {
      throw new ApiError('PERMISSION_DENIED', `${email} requested this, but may no longer do it: ${why}`)
    }
    if (of === undefined) return refuse('the user was deleted or disabled')
    const token = isOfToken(sessionId) ? this.#apiTokens.find(sessionId.slice(TOKEN_SESSION.length)) : undefined
    if (token === undefined && isOfToken(sessionId)) return refuse('the API token was revoked, or has expired')
    const { granted, areas } = token === undefined ? of : this.#permissions.narrowed(of, token.endpoints)
    const isLeft = (place: number) =>
      granted[place] === WHOLLY ||
      (granted[place] === IN_PART && touched !== undefined && areas?.get(place)?.holds(touched) === true)
    const lost = wanted.filter((name) => !isLeft(this.#places.get(name) ?? -1))
    if (lost.length > 0) refuse(`no role grants ${lost.join(' and ')}`)
  }

  /** Returns the id of the user with this login name. */
  #idOf(name: string): string | undefined {
    const remote = [...this.#running.list('radiusUsers')].find(({ username }) => username === name)
    return (localUser(this.#running, name) ?? remote)?.id
  }

  /**
   * Called on every node: users also change without an apply, for example when a login on another node finds that a
   * user has lost a group.
   */
  #onChanged(key: RecordKey | undefined): void {
    if (key !== undefined && OF_USERS.has(key.section)) this.#permissions.forget(key.key)
    else if (key === undefined || OF_RIGHTS.has(key.section)) this.#permissions.invalidate()
    if (key !== undefined && key.section !== 'users') return
    const hashOf = (userId: string) => this.#running.get('users', userId)?.passwordHash
    this.sessions.endOutdated(hashOf, (id) => this.account.isSpared(id))
  }

  /**
   * New rights take effect with the next request; users who are gone, disabled or have another password are logged out.
   */
  async onPromoted(changes: readonly RecordChange[]): Promise<void> {
    // Compiling all roles takes milliseconds, for which the next poller would wait, and most applies concern servers.
    if (changes.some(({ section }) => OF_RIGHTS.has(section))) this.#permissions.invalidate()
    if (changes.some(({ section }) => OF_SESSIONS.has(section))) {
      // Ended now, so that they do not become valid again when a later apply restores the rights.
      await this.sessions.end((session) => this.#isNobody(session))
    }
    const ended = new Set(changes.filter(endsSessions).map((change) => change.id))
    if (ended.size > 0) {
      await this.sessions.end((session) => ended.has(session.userId) && !this.account.isSpared(session.id))
    }
    await this.#revokeOf(changes)
  }

  /** Revokes the API tokens of deleted users, so that a restored user does not get old tokens back. */
  async #revokeOf(changes: readonly RecordChange[]): Promise<void> {
    const gone = changes
      .filter(({ section, after }) => OF_USERS.has(section) && after === undefined)
      .map(({ id }) => id)
    if (gone.length > 0) await this.#apiTokens.revoke(({ userId }) => gone.includes(userId))
  }
}

function isSameList(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  return a === b || (a?.length === b?.length && a?.every((one, at) => one === b?.[at]) === true)
}

const nobodyAnyMore = () => new ApiError('UNAUTHENTICATED', 'The user of this token was deleted or disabled')

/** The sections from which rights are compiled. */
const OF_RIGHTS: ReadonlySet<string> = new Set([...OF_USERS, 'radiusConfigs', 'oidcConfigs', 'groups', 'roles'])
/** The sections whose change may leave a session without anybody who vouches for its user. */
const OF_SESSIONS: ReadonlySet<string> = new Set([...OF_RIGHTS, 'samlConfigs'])

function endsSessions(change: RecordChange): boolean {
  if (change.section === 'radiusUsers') return change.after === undefined || change.after.disabled
  if (change.section !== 'users') return false
  if (change.after === undefined || change.after.disabled) return true
  return change.before !== undefined && change.before.passwordHash !== change.after.passwordHash
}
