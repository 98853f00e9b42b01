import { createHash, randomUUID } from 'node:crypto'
import type { RowChanges, SharedTable, SideTable } from '../../storage/config/config-store.ts'
import type { Clock } from '../base/clock.ts'
import { validity } from '../base/validity.ts'
import { type Introduction, isSameIntroduction } from './introduction.ts'
import { endedHere, isNoQuorum, Owed } from './owed.ts'
import { TOKEN_LIFE_MS, type TokenFault, type Tokens } from './token.ts'

export const SESSION_LIFE_MS = 12 * 3_600_000
const CACHED_TOKENS_MAX = 10_000
/**
 * Per user, so that one user cannot fill the table, and a program that logs in for each request ends only its own
 * sessions.
 */
export const SESSIONS_PER_USER_MAX = 50

/** How the user logged in. */
export type Via = 'password' | 'radius' | 'saml' | 'oidc'

export interface Session {
  readonly id: string
  readonly userId: string
  readonly createdAt_ms: number
  readonly expiresAt_ms: number
  readonly address: string
  /** Absent in sessions of earlier versions. */
  readonly via?: Via
  /** Whether it may only set up the second factor. */
  readonly isLimited?: boolean
  /** For introduced users. Earlier versions do not know this field, find no user with the id, and refuse. */
  readonly introduction?: Introduction
}

export type Opening = Pick<Session, 'address' | 'isLimited' | 'introduction'> & { readonly via: Via }

interface KnownToken {
  readonly session: Session
  readonly expiresAt_ms: number
}

/**
 * The table of live sessions, durable beside the configuration. A token is only as good as its session: removing the
 * session revokes all its tokens at once. Verified tokens are cached, so that a poller costs one map look-up.
 */
export class Sessions {
  readonly #table: SharedTable
  readonly #tokens: Tokens
  readonly #clock: Clock
  /** Oldest first. */
  readonly #live = new Map<string, Session>()
  /** The newest session of each introduced user, by user id. */
  readonly #introduced = new Map<string, Session>()
  readonly #known = new Map<string, KnownToken>()
  /**
   * Ids of sessions opened without a quorum, which no store has, with the password hash valid at that time; '' for
   * users without a local password.
   */
  readonly #unkept = new Map<string, string>()
  /**
   * Sessions that have ended here but could not be removed from the store and the other nodes. The value is their
   * expiry.
   */
  readonly #owed: Owed<number>

  constructor(table: SharedTable, owed: SideTable, tokens: Tokens, clock: Clock) {
    this.#table = table
    this.#tokens = tokens
    this.#clock = clock
    this.#owed = new Owed(owed, 'sessions', (until_ms) => until_ms <= clock.now_ms())
    const rows = table.entries().filter(({ key }) => !this.#owed.has(key))
    const stored = rows.map(({ value }) => value as Session)
    for (const session of stored.sort((a, b) => a.createdAt_ms - b.createdAt_ms)) this.#learnSession(session)
    table.follow((changes) => this.#take(changes))
  }

  /**
   * Opens a session. `ended` are the user's oldest sessions beyond the limit, and those opened when the identity
   * provider introduced the user differently. `passwordHash` is the present one of local users.
   */
  async create(
    userId: string,
    how: Opening,
    passwordHash = '',
  ): Promise<{ readonly session: Session; readonly token: string; readonly ended: readonly string[] }> {
    const now_ms = this.#clock.now_ms()
    await this.#endToOpen([...this.#live.values()].filter((session) => session.expiresAt_ms <= now_ms))
    const expiresAt_ms = now_ms + SESSION_LIFE_MS
    const session: Session = { id: randomUUID(), userId, createdAt_ms: now_ms, expiresAt_ms, ...how }
    await this.#keep(session, passwordHash)
    // Signed before any wait: a new login may end this session as soon as this awaits.
    const token = this.token(session.id)
    const all = this.list(userId)
    const surplus = new Set(all.slice(0, -SESSIONS_PER_USER_MAX))
    const place = all.findIndex(({ id }) => id === session.id)
    const isOverruled = (one: Session, at: number) =>
      at < place && !isSameIntroduction(one.introduction, session.introduction)
    const ended = all.filter((one, at) => surplus.has(one) || isOverruled(one, at))
    await this.#endToOpen(ended)
    return { session, token, ended: ended.map(({ id }) => id) }
  }

  /** Returns the live sessions of one user, or of all, oldest first. */
  list(userId?: string): readonly Session[] {
    const now_ms = this.#clock.now_ms()
    const isWanted = (session: Session) => userId === undefined || session.userId === userId
    return [...this.#live.values()].filter((session) => session.expiresAt_ms > now_ms && isWanted(session))
  }

  /** Returns the introduction of a user from a live session; the last login counts. */
  introductionOf(userId: string): Introduction | undefined {
    const session = this.#introduced.get(userId)
    return session !== undefined && session.expiresAt_ms > this.#clock.now_ms() ? session.introduction : undefined
  }

  isLimited(id: string): boolean {
    return this.#live.get(id)?.isLimited === true
  }

  /** Removes the limit of a session once the second factor is set up. */
  async lift(id: string): Promise<void> {
    const lifted = (): RowChanges | undefined => {
      const session = this.#live.get(id)
      // A session that has ended meanwhile, on any node, must not return.
      if (session?.isLimited !== true) return undefined
      return { puts: [{ key: id, value: { ...session, isLimited: false } }], removed: [] }
    }
    try {
      if (await this.#table.update(lifted)) this.#unkept.delete(id)
    } catch (error) {
      if (!isNoQuorum(error)) throw error
      const changes = lifted()
      if (changes === undefined) return
      this.#unkept.set(id, this.#unkept.get(id) ?? '')
      this.#take(changes)
    }
  }

  /** Returns a fresh token of a live session; it never outlives the session. */
  token(sessionId: string): string {
    const session = this.#live.get(sessionId)
    if (session === undefined) throw new Error('a token was requested for an ended session')
    const until_ms = Math.min(this.#clock.now_ms() + TOKEN_LIFE_MS, session.expiresAt_ms)
    return this.#tokens.sign({ sub: session.userId, sid: session.id, exp: Math.floor(until_ms / 1000) }, randomUUID())
  }

  /** Returns a ticket for `resume` with this key, valid until the session ends. */
  ticket(sessionId: string, pageKey: string): string {
    const session = this.#live.get(sessionId)
    if (session === undefined) throw new Error('a ticket was requested for an ended session')
    const exp = Math.floor(session.expiresAt_ms / 1000)
    const claims = { sub: session.userId, sid: session.id, exp, page: pageOf(pageKey) }
    return this.#tokens.signTicket(claims, randomUUID())
  }

  /** Returns a fresh token for the ticket of a live session and of this key; undefined otherwise. */
  resume(ticket: string, pageKey: string): string | undefined {
    const claims = this.#tokens.verifyTicket(ticket)
    const isFor = typeof claims !== 'string' && claims.page === pageOf(pageKey)
    const session = isFor ? this.#live.get(claims.sid) : undefined
    const isLive = session !== undefined && session.expiresAt_ms > this.#clock.now_ms()
    return isLive ? this.token(session.id) : undefined
  }

  authenticate(token: string): Session | TokenFault {
    const now_ms = this.#clock.now_ms()
    const known = this.#known.get(token) ?? this.#learn(token)
    if (typeof known === 'string') return known
    if (known.expiresAt_ms <= now_ms || !this.#live.has(known.session.id)) {
      this.#known.delete(token)
      return 'expired'
    }
    return known.session
  }

  /** Returns whether a node of this cluster issued the token and it has not expired, whatever became of its session. */
  isIssued(token: string): boolean {
    return typeof this.#tokens.verify(token) !== 'string'
  }

  /** Returns when an authenticated token expires; 0 for any other. */
  expiryOf(token: string): number {
    return this.#known.get(token)?.expiresAt_ms ?? 0
  }

  /** Verifies every token again, because the trusted keys or the sessions have changed. */
  verifyAnew(): void {
    this.#known.clear()
    validity.endRights()
  }

  /** Ends sessions and resolves with their number; also removes those that earlier calls could not remove. */
  async end(gone: (session: Session) => boolean): Promise<number> {
    const ended = [...this.#live.values()].filter(gone)
    const isOfOthers = ended.some(({ id }) => !this.#unkept.has(id))
    for (const session of ended) this.#endHere(session)
    try {
      await this.#owed.pay((ids) => this.#table.remove(ids))
    } catch (error) {
      if (!isNoQuorum(error)) throw error
      if (isOfOthers) throw endedHere()
    }
    return ended.length
  }

  /** Ends sessions for a login, which a missing quorum does not prevent. */
  async #endToOpen(ended: readonly Session[]): Promise<void> {
    if (ended.length === 0) return
    const gone = new Set(ended)
    await this.end((session) => gone.has(session)).catch((error: unknown) => {
      if (!isNoQuorum(error)) throw error
    })
  }

  /**
   * Stores the session. Users can log in without a quorum as well: the session then exists on this node only, until its
   * daemon restarts.
   */
  async #keep(session: Session, passwordHash: string): Promise<void> {
    try {
      await this.#table.put(session.id, session)
      this.#unkept.delete(session.id)
    } catch (error) {
      if (!isNoQuorum(error)) throw error
      this.#unkept.set(session.id, passwordHash)
      this.#take({ puts: [{ key: session.id, value: session }], removed: [] })
    }
  }

  /**
   * Stores the sessions that were opened without a quorum, now that this node needs none: their users stay logged in.
   */
  async keepAll(): Promise<void> {
    for (const [id, passwordHash] of this.#unkept) {
      const session = this.#live.get(id)
      if (session !== undefined) await this.#keep(session, passwordHash)
    }
  }

  /**
   * Ends unstored sessions whose password differs from what `hashOf` returns: when a user changed the password on
   * another node and ended all sessions there, these were not visible.
   */
  endOutdated(hashOf: (userId: string) => string | undefined, isSpared: (id: string) => boolean): void {
    for (const [id, before] of this.#unkept) {
      const session = this.#live.get(id)
      const now = hashOf(session?.userId ?? '')
      if (session === undefined || before === '' || now === before) continue
      if (now !== undefined && isSpared(id)) {
        this.#unkept.set(id, now)
        continue
      }
      this.#endHere(session)
    }
  }

  #endHere({ id, expiresAt_ms }: Session): void {
    this.#forget(id)
    this.#owed.note(id, expiresAt_ms)
  }

  #take({ puts, removed }: RowChanges): void {
    // Verified tokens refer to the previous session object.
    if (puts.some(({ key }) => this.#live.has(key))) this.verifyAnew()
    for (const { key, value } of puts) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `#keep` and `lift` only
      if (!this.#owed.has(key)) this.#learnSession(value as Session)
    }
    for (const key of removed) this.#forget(key)
  }

  #learnSession(session: Session): void {
    const { id, userId, introduction, createdAt_ms } = session
    this.#live.set(id, session)
    const isNewest = (this.#introduced.get(userId)?.createdAt_ms ?? 0) <= createdAt_ms
    if (introduction === undefined || !isNewest) return
    const before = this.#introduced.get(userId)?.introduction
    this.#introduced.set(userId, session)
    // The last login counts for earlier sessions as well.
    if (before !== undefined && !isSameIntroduction(before, introduction)) validity.endRights()
  }

  #forget(id: string): void {
    const userId = this.#live.get(id)?.userId ?? ''
    this.#live.delete(id)
    this.#unkept.delete(id)
    validity.endRights()
    if (this.#introduced.get(userId)?.id !== id) return
    const next = this.list(userId).at(-1)
    if (next === undefined) this.#introduced.delete(userId)
    else this.#introduced.set(userId, next)
  }

  #learn(token: string): KnownToken | TokenFault {
    const claims = this.#tokens.verify(token)
    if (typeof claims === 'string') return claims
    const session = this.#live.get(claims.sid)
    if (session === undefined || session.userId !== claims.sub) return 'expired'
    if (this.#known.size >= CACHED_TOKENS_MAX) this.#known.clear()
    const known = { session, expiresAt_ms: Math.min(claims.exp * 1000, session.expiresAt_ms) }
    this.#known.set(token, known)
    return known
  }
}

/** Returns what a ticket says about the key of its page, which cannot be found from it. */
const pageOf = (key: string): string => createHash('sha256').update(key).digest('base64url')
