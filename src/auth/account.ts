import type {
  Accounts,
  OwnAccount,
  SecondFactorState,
  SessionEntry,
  TokenEntry,
  WantedToken,
} from '../context/accounts.ts'
import type { Actor } from '../context/actor.ts'
import type { Asking } from '../context/asking.ts'
import { placeOfSession } from '../model/session.ts'
import { ApiError, refuseFields } from '../base/errors.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { User } from '../model/access.ts'
import { policyProblems } from '../rules/password.ts'
import { type ApiToken, type ApiTokens, isOfToken, TOKEN_SESSION, TOKENS_PER_USER_MAX } from './api-tokens.ts'
import type { Amend } from './login.ts'
import { assertUnchanged, Proof, type ProofParts } from './proof.ts'
import { newRecoveryCodes, recoveryHash } from './recovery-codes.ts'
import type { SecondFactors } from './second-factors.ts'
import type { Session, Sessions } from './sessions.ts'
import { newSecret, otpauthUri, stepOfCode } from './totp.ts'

const ISSUER = 'Fulcrum'
/** How long a user may take to set up a device. */
const ENROLMENT_MS = 10 * 60_000
const ENROLMENTS_MAX = 10_000
const DAY_MS = 86_400_000

export interface AccountParts extends ProofParts {
  readonly sessions: Sessions
  readonly tokens: ApiTokens
  readonly factors: SecondFactors
  readonly amend: Amend
  readonly clock: Clock
  readonly log: Log
  readonly grantedTo: (actor: Actor) => Pick<OwnAccount, 'endpoints' | 'confined'>
}

interface Enrolment {
  readonly secret: string
  readonly until_ms: number
}

/** Changes that users make to their own account, at once, and that administrators make for users who no longer can. */
export class Account implements Accounts {
  readonly #parts: AccountParts
  readonly #proof: Proof
  /** Enrolments by user. */
  readonly #enrolments = new Map<string, Enrolment>()
  /** Sessions that survive the change of their user's password. */
  readonly #spared = new Set<string>()

  constructor(parts: AccountParts) {
    this.#parts = parts
    this.#proof = new Proof(parts)
  }

  isSpared(sessionId: string): boolean {
    return this.#spared.has(sessionId)
  }

  sessions({ actor }: Asking, userId?: string): readonly SessionEntry[] {
    const entries = this.#parts.sessions.list(userId).map((session) => this.#sessionEntry(session, actor))
    return entries.toSorted((a, b) => (placeOfSession(a) < placeOfSession(b) ? -1 : 1))
  }

  tokens(userId?: string): readonly TokenEntry[] {
    return this.#parts.tokens.list(userId).map((token) => this.#tokenEntry(token))
  }

  async endSession(id: string, userId?: string): Promise<void> {
    const isIt = (session: Session) => session.id === id && (userId === undefined || session.userId === userId)
    if ((await this.#parts.sessions.end(isIt)) === 0) throw new ApiError('NOT_FOUND', `There is no session ${id}`)
  }

  /** Ends the caller's own session or token: an API token may end itself, and nothing else. */
  async endOwn({ sessionId, userId }: Actor): Promise<void> {
    if (isOfToken(sessionId)) return this.revokeToken(sessionId.slice(TOKEN_SESSION.length), userId)
    return this.endSession(sessionId)
  }

  async revokeToken(id: string, userId?: string): Promise<void> {
    const isIt = (token: ApiToken) => token.id === id && (userId === undefined || token.userId === userId)
    if ((await this.#parts.tokens.revoke(isIt)) === 0) throw new ApiError('NOT_FOUND', `There is no API token ${id}`)
  }

  async resetSecondFactor({ actor }: Asking, userId: string): Promise<void> {
    this.#proof.local(userId)
    // With a stolen session or token one must not get around the questions that the owner would be asked.
    if (userId === actor.userId) {
      throw new ApiError('PERMISSION_DENIED', 'Disable your own with DELETE /localUsers/me/2fa')
    }
    await this.#parts.amend('users', userId, (now) => {
      if (now?.secondFactor === undefined) throw new ApiError('NOT_FOUND', 'This user has no second factor')
      return { secondFactor: undefined }
    })
    this.#parts.log.info('second factor reset', { userId, by: actor.email })
  }

  own({ actor }: Asking): OwnAccount {
    const { running, principals, sessions } = this.#parts
    const local = running.get('users', actor.userId)
    const principal = principals.of(actor.userId)
    if (principal === undefined) throw new ApiError('UNAUTHENTICATED', 'This user no longer exists')
    const { firstName, lastName } = local ?? { firstName: '', lastName: '' }
    const { id, name: email, groups, roles } = principal
    const isRemote = running.get('radiusUsers', id) !== undefined
    const kind = local !== undefined ? 'local' : isRemote ? 'radius' : 'oidc'
    const mustEnrol = sessions.isLimited(actor.sessionId)
    const { endpoints, confined } = this.#parts.grantedTo(actor)
    const about = { id, email, firstName, lastName, kind, groups, roles, endpoints, confined } as const
    return { ...about, secondFactor: this.#factorOf(local), mustEnrol }
  }

  #factorOf(user: User | undefined): SecondFactorState {
    if (user?.secondFactor === undefined) return { enabled: false, since: null, recoveryCodesLeft: 0 }
    const recoveryCodesLeft = this.#parts.factors.recoveryCodesLeft(user.secondFactor)
    return { enabled: true, since: user.secondFactor.since, recoveryCodesLeft }
  }

  #sessionEntry(
    { id, userId, address, via = 'password', introduction, ...times }: Session,
    actor: Actor,
  ): SessionEntry {
    const name = this.#parts.principals.of(userId, introduction)?.name ?? ''
    const [createdAt, expiresAt] = [isoOf(times.createdAt_ms), isoOf(times.expiresAt_ms)]
    return { id, userId, name, address, via, createdAt, expiresAt, isCurrent: id === actor.sessionId }
  }

  #tokenEntry({ id, userId, name, endpoints, createdAt_ms, expiresAt_ms }: ApiToken): TokenEntry {
    const userName = this.#parts.principals.of(userId)?.name ?? ''
    const expiresAt = expiresAt_ms === undefined ? null : isoOf(expiresAt_ms)
    return {
      id,
      userId,
      userName,
      name,
      endpoints: endpoints === undefined ? null : [...endpoints],
      createdAt: isoOf(createdAt_ms),
      expiresAt,
    }
  }

  async changePassword({ actor, client }: Asking, current: string, next: string): Promise<void> {
    const user = await this.#proof.password(actor, client.address, current)
    const problems = policyProblems(next, user)
    refuseFields(problems.map((message) => ({ field: 'newPassword', code: 'PASSWORD_POLICY', message })))
    const passwordHash = await this.#parts.passwords.hash(next)
    // Done before the change, so that a crash in between leaves no session of the old password; sessions opened
    // meanwhile end with the change.
    await this.#parts.sessions.end((session) => session.userId === user.id && session.id !== actor.sessionId)
    try {
      await this.#parts.amend('users', user.id, (now) => {
        assertUnchanged(user, now)
        // Only now, and not while waiting for an apply that may concern this very user.
        this.#spared.add(actor.sessionId)
        return { passwordHash }
      })
    } finally {
      this.#spared.delete(actor.sessionId)
    }
    this.#parts.log.info('password changed', { account: user.email })
  }

  async createToken(
    { actor: { userId, sessionId } }: Asking,
    { name, endpoints, expiresInDays }: WantedToken,
  ): Promise<{ readonly id: string; readonly token: string }> {
    const { tokens, sessions, clock } = this.#parts
    // A token would circumvent the missing second factor.
    if (sessions.isLimited(sessionId)) throw new ApiError('PERMISSION_DENIED', 'Set up a second factor first')
    // Nothing would tell the daemon when such a server no longer admits the user.
    const why = 'API tokens are for local users: a RADIUS server or an identity provider is only asked at login'
    this.#proof.local(userId, why)
    const others = tokens.list(userId)
    if (others.some((other) => other.name === name)) {
      throw new ApiError('NAME_NOT_UNIQUE', `You already have an API token with the name ${name}`)
    }
    if (others.length >= TOKENS_PER_USER_MAX) {
      throw new ApiError('LIMIT_REACHED', `You already have ${TOKENS_PER_USER_MAX} API tokens, the maximum; revoke one`)
    }
    const expiresAt_ms = expiresInDays === null ? undefined : clock.now_ms() + expiresInDays * DAY_MS
    const made = await tokens.create(userId, { name, endpoints, expiresAt_ms })
    // The session may have ended, or the user be gone or disabled, during the write: whatever ended the user's tokens
    // did not see this one.
    const isLive = sessions.list(userId).some(({ id }) => id === sessionId)
    const user = this.#parts.principals.of(userId)
    if (isLive && user !== undefined && !user.disabled) return made
    await tokens.revoke(({ id }) => id === made.id)
    throw new ApiError('UNAUTHENTICATED', 'This session has ended, or its user was deleted or disabled')
  }

  async beginSecondFactor({ actor, client }: Asking, password: string) {
    const user = await this.#proof.password(actor, client.address, password)
    this.#refuseSecondOne(user)
    if (this.#enrolments.size >= ENROLMENTS_MAX) this.#enrolments.clear()
    const secret = newSecret()
    this.#enrolments.set(user.id, { secret, until_ms: this.#parts.clock.monotonic_ms() + ENROLMENT_MS })
    return { secret, uri: otpauthUri(secret, user.email, ISSUER) }
  }

  async confirmSecondFactor({ actor }: Asking, code: string): Promise<{ readonly recoveryCodes: readonly string[] }> {
    const { clock, factors, amend, sessions, log } = this.#parts
    const user = this.#proof.local(actor.userId)
    this.#refuseSecondOne(user)
    const enrolment = this.#enrolments.get(user.id)
    if (enrolment === undefined || enrolment.until_ms < clock.monotonic_ms()) {
      throw new ApiError('NOT_FOUND', 'No second factor is being set up; start with POST /localUsers/me/2fa')
    }
    // The secret was returned to a session that knew the password: another session must not obtain the recovery codes
    // by guessing.
    const isRight = await this.#proof.counted(
      user.id,
      'second factor',
      async () => stepOfCode(enrolment.secret, code, clock.now_ms(), 0) !== undefined,
    )
    if (!isRight) {
      throw new ApiError(
        'TWO_FACTOR_INVALID',
        'The code is wrong: check the clock of the device, and the account that it shows',
      )
    }
    const recoveryCodes = newRecoveryCodes()
    const { secret } = enrolment
    const secondFactor = { secret, recoveryCodes: recoveryCodes.map(recoveryHash), since: isoOf(clock.now_ms()) }
    this.#enrolments.delete(user.id)
    // So that the code cannot be used again for a login.
    await factors.accepts(secondFactor, code)
    await amend('users', user.id, (now) => {
      assertUnchanged(user, now)
      return { secondFactor }
    })
    await sessions.lift(actor.sessionId)
    log.info('second factor set up', { account: user.email })
    return { recoveryCodes }
  }

  async removeSecondFactor({ actor, client }: Asking, password: string, code: string): Promise<void> {
    const user = await this.#proof.password(actor, client.address, password)
    if (user.secondFactor === undefined) throw new ApiError('NOT_FOUND', 'You have no second factor')
    const { secondFactor } = user
    const isRight = await this.#proof.counted(user.id, 'second factor', () =>
      this.#parts.factors.accepts(secondFactor, code),
    )
    if (!isRight) throw new ApiError('TWO_FACTOR_INVALID', 'The code is wrong, or was already used')
    await this.#parts.amend('users', user.id, (now) => {
      assertUnchanged(user, now)
      return { secondFactor: undefined }
    })
    this.#parts.log.info('second factor removed', { account: user.email })
  }

  #refuseSecondOne({ secondFactor }: User): void {
    if (secondFactor === undefined) return
    throw new ApiError('IN_USE', 'A second factor is already set up; remove it first: DELETE /localUsers/me/2fa')
  }
}

const isoOf = (at_ms: number) => new Date(at_ms).toISOString()
