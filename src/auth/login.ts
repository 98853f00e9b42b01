import type { Credentials, LoginActor } from '../context/accounts.ts'
import type { SessionData } from '../context/actor.ts'
import type { Clock } from '../base/clock.ts'
import type { AmendedSection, Amending } from '../config/apply-parts.ts'
import { ApiError } from '../base/errors.ts'
import { nameBasedId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import { bareName, comparedName, isReservedName } from './login-name.ts'
import { SHARED } from '../model/node.ts'
import { enforcedSso } from '../rules/enforced-sso.ts'
import type { ConfigView, SectionRecords } from '../model/sections.ts'
import type { ExternalLogin } from './external-login.ts'
import type { FirstPassword } from './first-password.ts'
import type { Lockout } from './lockout.ts'
import type { Passwords } from './password.ts'
import { siteOf } from './place.ts'
import { introduced, type Introduction } from './introduction.ts'
import { localUser } from './principal.ts'
import type { Principals } from './principals.ts'
import type { SecondFactors } from './second-factors.ts'
import type { Opening, Sessions, Via } from './sessions.ts'

type LocalUser = SectionRecords['users']
type RadiusUser = SectionRecords['radiusUsers']

/** Changes a record of running at once; see `ApplyEngine.amend`. */
export type Amend = <N extends AmendedSection>(section: N, id: string, change: Amending<N>) => Promise<void>

export interface LoginParts {
  readonly running: ConfigView
  readonly principals: Principals
  readonly passwords: Passwords
  readonly sessions: Sessions
  readonly lockout: Lockout
  readonly factors: SecondFactors
  readonly external: ExternalLogin
  readonly firstPassword: FirstPassword
  readonly amend: Amend
  readonly clock: Clock
  readonly log: Log
}

/** The owner of the password. */
type Identified =
  | { readonly kind: 'local'; readonly user: LocalUser }
  | { readonly kind: 'radius'; readonly user: RadiusUser }
  | { readonly kind: 'refused' }
  | { readonly kind: 'unjudged' }

const userDisabled = () => new ApiError('USER_DISABLED', 'This user is disabled; ask an administrator')

/** The refusals for users whom the identity provider knows and this configuration does not. */
const WHY_NOT = {
  off: 'The login settings have changed; log in again',
  unmapped: 'There is no local user with this e-mail, and none of your groups is mapped to a role',
  taken: 'Another user already has this name',
} as const

/** Logs users in. An unknown name and a wrong password get the same answer after the same work. */
export class Login implements LoginActor {
  readonly #parts: LoginParts
  /** Serialises the creation and change of users: two simultaneous first logins create one user. */
  #provisioning: Promise<unknown> = Promise.resolve()

  constructor(parts: LoginParts) {
    this.#parts = parts
  }

  async login({ email, password, code }: Credentials, address: string): Promise<SessionData> {
    const settle = this.#parts.lockout.begin(email, address)
    // An attempt that could not be judged, because too many were under way, does not count as a failure.
    let outcome: boolean | undefined
    try {
      const who = await this.#identify(email, password, siteOf(address))
      if (who.kind === 'refused') outcome = false
      if (who.kind === 'refused' || who.kind === 'unjudged') {
        this.#parts.log.warn('login refused', { account: email, address })
        throw new ApiError('INVALID_CREDENTIALS', 'The e-mail or the password is wrong')
      }
      // Only a user who knows the password gets a more specific answer.
      if (who.user.disabled) throw userDisabled()
      this.#refuseWhereEnforced(who.user.id)
      if (who.kind === 'local') {
        outcome = await this.#hasSecondFactor(who.user, code)
        if (!outcome) throw new ApiError('TWO_FACTOR_INVALID', 'The code is wrong, or was already used')
      }
      outcome = true
      return who.kind === 'local'
        ? await this.#admit(who.user, 'password', address)
        : await this.#openRemote(who.user, address)
    } finally {
      settle(outcome)
    }
  }

  /**
   * Admits a user whom an identity provider vouches for. A local user has the rights configured here, whatever the
   * provider says; `introduction` is for all others.
   */
  async admitted(
    email: string,
    via: 'saml' | 'oidc',
    address: string,
    introduction?: Introduction,
  ): Promise<SessionData> {
    const user = localUser(this.#parts.running, email)
    if (user?.disabled === true) throw userDisabled()
    if (user !== undefined) return this.#admit(user, via, address)
    if (introduction !== undefined) return this.#openIntroduced(introduction, via, address)
    throw new ApiError('INVALID_CREDENTIALS', 'There is no local user with this e-mail')
  }

  async #openIntroduced(introduction: Introduction, via: Via, address: string): Promise<SessionData> {
    const { running, principals, log } = this.#parts
    const who = introduced(running, introduction)
    if (typeof who !== 'string') {
      const isStillRight = () => principals.introduced(introduction) !== undefined
      return this.#open(who.id, who.name, who.name, { via, address, introduction }, isStillRight)
    }
    log.warn('login refused', { account: introduction.email, address, reason: who })
    if (who === 'disabled') throw userDisabled()
    throw new ApiError('INVALID_CREDENTIALS', WHY_NOT[who])
  }

  async #admit(user: LocalUser, via: Via, address: string): Promise<SessionData> {
    const policy = this.#parts.running.get('loginPolicies', SHARED)
    // The identity provider has its own second factors.
    const isLimited = via === 'password' && policy?.twoFactorRequired === true && user.secondFactor === undefined
    const name = `${user.firstName} ${user.lastName}`.trim()
    const data = await this.#open(user.id, user.email, name, { via, address, isLimited }, () => {
      const now = this.#parts.running.get('users', user.id)
      return now !== undefined && !now.disabled && (via !== 'password' || now.passwordHash === user.passwordHash)
    })
    if (via === 'password') await this.#parts.firstPassword.forget()
    return data
  }

  #openRemote({ id, username }: RadiusUser, address: string): Promise<SessionData> {
    const isStillRight = () => this.#parts.principals.of(id)?.disabled === false
    return this.#open(id, username, username, { via: 'radius', address }, isStillRight)
  }

  async #open(
    id: string,
    email: string,
    name: string,
    how: Opening,
    isStillRight: () => boolean,
  ): Promise<SessionData> {
    const passwordHash = this.#parts.running.get('users', id)?.passwordHash
    const { session, token, ended } = await this.#parts.sessions.create(id, how, passwordHash)
    // Whatever ended the user's sessions during the write did not see this one.
    if (!isStillRight() || !this.#parts.principals.isOn(how.via)) {
      await this.#parts.sessions.end((other) => other.id === session.id)
      throw new ApiError('INVALID_CREDENTIALS', 'The e-mail or the password is wrong')
    }
    return { user: { id, email, name }, token, mustEnrol: how.isLimited === true, via: how.via, ended }
  }

  async #identify(email: string, password: string, place: string): Promise<Identified> {
    const { passwords, external, log } = this.#parts
    const known = localUser(this.#parts.running, email)
    if (known !== undefined) return this.#judged(known, password, place)
    const [verdict] = await Promise.all([
      external.authenticate(email, password, place),
      // Takes as long as for a local user.
      passwords.verify(undefined, password, place),
    ])
    if (verdict.outcome === 'accepted') {
      const name = verdict.name ?? email
      if (isReservedName(name)) {
        log.warn('a RADIUS server returned a name that is reserved for the daemon', { account: email, name })
        return { kind: 'refused' }
      }
      if (!this.#isTaken(name)) {
        return { kind: 'radius', user: await this.#provisioned(name, verdict.groups) }
      }
      log.warn('a RADIUS server returned the name of a local user', { account: email, name })
      return { kind: 'refused' }
    }
    if (verdict.outcome !== 'unreachable') return { kind: 'refused' }
    log.error('no RADIUS server answers', { account: email })
    return { kind: 'unjudged' }
  }

  /** Returns whether the name belongs to a local user, or to a disabled user under another spelling. */
  #isTaken(name: string): boolean {
    const { running } = this.#parts
    if (localUser(running, name) !== undefined) return true
    return [...running.list('users')].some((user) => user.disabled && bareName(user.email) === bareName(name))
  }

  async #judged(known: LocalUser, password: string, place: string): Promise<Identified> {
    const isRight = await this.#parts.passwords.verify(known.passwordHash, password, place)
    // Read again, to include what was applied while the hash was computed.
    const user = this.#parts.running.get('users', known.id)
    if (!isRight || user === undefined || user.passwordHash !== known.passwordHash) return { kind: 'refused' }
    return { kind: 'local', user }
  }

  /**
   * Resolves with whether the code is right; refuses if it is missing, or after too many wrong ones from any address.
   */
  async #hasSecondFactor(user: LocalUser, code: string | undefined): Promise<boolean> {
    if (user.secondFactor === undefined) return true
    if (code === undefined || code === '') {
      throw new ApiError('TWO_FACTOR_REQUIRED', 'Send the code of the second factor, or a recovery code, as code')
    }
    // A person who knows the password could guess from many addresses, and there are only a million codes.
    const settle = this.#parts.lockout.begin(user.id, 'second factor')
    let outcome: boolean | undefined
    try {
      outcome = await this.#parts.factors.accepts(user.secondFactor, code)
      return outcome
    } finally {
      settle(outcome)
    }
  }

  #refuseWhereEnforced(userId: string): void {
    const enforced = enforcedSso(this.#parts.running)
    const [first] = enforced
    if (first === undefined || enforced.some(({ breakGlassUserId }) => breakGlassUserId === userId)) return
    throw new ApiError(
      'SSO_ENFORCED',
      `Password login is off: log in through the identity provider, GET ${first.loginPath}`,
    )
  }

  /** Returns the RADIUS user. A known user with unchanged groups waits for nobody; only writes are serialised. */
  #provisioned(name: string, groups: readonly string[]): Promise<RadiusUser> {
    const sorted = groups.toSorted()
    const known = this.#known(name)
    if (known !== undefined && (known.disabled || known.groups.join() === sorted.join())) return Promise.resolve(known)
    const work = this.#provisioning.then(() => this.#provision(name, sorted))
    this.#provisioning = work.catch(() => undefined)
    return work
  }

  /**
   * Finds the user by name, and first a disabled one under any name that a server may take for the same account, with a
   * domain before it or a realm after it.
   */
  #known(name: string): RadiusUser | undefined {
    const all = [...this.#parts.running.list('radiusUsers')]
    const disabled = all.find((user) => user.disabled && bareName(user.username) === bareName(name))
    return disabled ?? all.find((user) => comparedName(user.username) === comparedName(name))
  }

  async #provision(username: string, groups: readonly string[]): Promise<RadiusUser> {
    const { amend, clock } = this.#parts
    const known = this.#known(username)
    if (known === undefined) {
      const createdAt = new Date(clock.now_ms()).toISOString()
      // A deleted user who returns gets the same id: names are unique, and earlier revisions may contain this one.
      const id = nameBasedId(`RADIUS user ${comparedName(username)}`)
      const user = { id, username, disabled: false, groups: [...groups], createdAt }
      await amend('radiusUsers', user.id, () => user)
      return user
    }
    if (known.disabled || known.groups.join() === groups.join()) return known
    await amend('radiusUsers', known.id, (now) => {
      if (now === undefined || now.disabled) throw new ApiError('USER_DISABLED', 'This user was disabled or deleted')
      return { groups: [...groups] }
    })
    return { ...known, groups: [...groups] }
  }
}
