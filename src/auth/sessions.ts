import { randomUUID } from 'node:crypto'
import type { RowChanges, SharedTable, SideTable } from '../../storage/config/config-store.ts'
import type { Clock } from '../base/clock.ts'
import { validity } from '../base/validity.ts'
import { type Introduction, isSameIntroduction } from './introduction.ts'
import { endedHere, isNoQuorum, Owed } from './owed.ts'
import { TOKEN_LIFE_MS, type TokenFault, type Tokens } from './token.ts'

export const SESSION_LIFE_MS = 12 * 3_600_000
const CACHED_TOKENS_MAX = 10_000
/** Per user: nobody fills the table, and a program that logs in for each request ends only sessions of its own. */
export const SESSIONS_PER_USER_MAX = 50

/** How somebody came in. */
export type Via = 'password' | 'radius' | 'saml' | 'oidc'

export interface Session {
  readonly id: string
  readonly userId: string
  readonly createdAt_ms: number
  readonly expiresAt_ms: number
  readonly address: string
  /** Absent in sessions of earlier versions. */
  readonly via?: Via
  /** May do nothing but set up the second factor. */
  readonly isLimited?: boolean
  /**
   * For people without a record here. Earlier versions do not know this field, find no user with this id, and refuse.
   */
  readonly introduction?: Introduction
}

export type Opening = Pick<Session, 'address' | 'isLimited' | 'introduction'> & { readonly via: Via }

interface KnownToken {
  readonly session: Session
  readonly expiresAt_ms: number
}

/**
 * The table of live sessions, durable beside the configuration. A token is only as good as its session: removing the
 * session revokes every token of it at once. Verified tokens are remembered, so that a poller costs one map look-up.
 */
export class Sessions {
  readonly #table: SharedTable
  readonly #tokens: Tokens
  readonly #clock: Clock
  /** Oldest first. */
  readonly #live = new Map<string, Session>()
  /** The newest session of each person without a record, by user id. */
  readonly #introduced = new Map<string, Session>()
  readonly #known = new Map<string, KnownToken>()
  /**
   * Ids of sessions that were opened without a quorum, so no store has them, with the password hash that was valid
   * then; '' for people who have none here.
   */
  readonly #unkept = new Map<string, string>()
  /**
   * Sessions that have ended here and could not be removed: the store, and other nodes, still have them. Value: until
   * when.
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
   * `ended` are the oldest of the user, where there are as many as there may be, and those that were opened when the
   * identity provider said something else of the same person. `passwordHash` is the one of now, of local users.
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
    // Right away: a new login may end this session as soon as anything is awaited.
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

  /** Live ones of one user, or of all, oldest first. */
  list(userId?: string): readonly Session[] {
    const now_ms = this.#clock.now_ms()
    const isWanted = (session: Session) => userId === undefined || session.userId === userId
    return [...this.#live.values()].filter((session) => session.expiresAt_ms > now_ms && isWanted(session))
  }

  /** What a live session keeps of somebody without a record; the last login counts. */
  introductionOf(userId: string): Introduction | undefined {
    const session = this.#introduced.get(userId)
    return session !== undefined && session.expiresAt_ms > this.#clock.now_ms() ? session.introduction : undefined
  }

  isLimited(id: string): boolean {
    return this.#live.get(id)?.isLimited === true
  }

  /** The second factor is there: the session may do what its user may. */
  async lift(id: string): Promise<void> {
    const lifted = (): RowChanges | undefined => {
      const session = this.#live.get(id)
      // A session that has ended meanwhile, on any node, must not come back.
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

  /** A fresh token of a live session; it never outlives the session. */
  token(sessionId: string): string {
    const session = this.#live.get(sessionId)
    if (session === undefined) throw new Error('a token was asked for a session that has ended')
    const until_ms = Math.min(this.#clock.now_ms() + TOKEN_LIFE_MS, session.expiresAt_ms)
    return this.#tokens.sign({ sub: session.userId, sid: session.id, exp: Math.floor(until_ms / 1000) }, randomUUID())
  }

  /** For `resume`, until the session ends. */
  ticket(sessionId: string): string {
    const session = this.#live.get(sessionId)
    if (session === undefined) throw new Error('a ticket was asked for a session that has ended')
    const exp = Math.floor(session.expiresAt_ms / 1000)
    return this.#tokens.signTicket({ sub: session.userId, sid: session.id, exp }, randomUUID())
  }

  /** A fresh token for a caller with the ticket of a live session; undefined otherwise. */
  resume(ticket: string): string | undefined {
    const claims = this.#tokens.verifyTicket(ticket)
    const session = typeof claims === 'string' ? undefined : this.#live.get(claims.sid)
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

  /** When an authenticated token expires; 0 for any other. */
  expiryOf(token: string): number {
    return this.#known.get(token)?.expiresAt_ms ?? 0
  }

  /** Other keys count for tokens than before: each is verified again. */
  verifyAnew(): void {
    this.#known.clear()
    validity.endRights()
  }

  /** Answers how many have ended; those that could not be removed at an earlier call are removed with them. */
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

  /** Where somebody logs in, what has to end for it keeps nobody out. */
  async #endToOpen(ended: readonly Session[]): Promise<void> {
    if (ended.length === 0) return
    const gone = new Set(ended)
    await this.end((session) => gone.has(session)).catch((error: unknown) => {
      if (!isNoQuorum(error)) throw error
    })
  }

  /** People get in without a quorum as well: the session is then one of this node and this run of its daemon. */
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
   * Stores the sessions that were opened without a quorum: now that this node needs none, their users stay logged in.
   */
  async keepAll(): Promise<void> {
    for (const [id, passwordHash] of this.#unkept) {
      const session = this.#live.get(id)
      if (session !== undefined) await this.#keep(session, passwordHash)
    }
  }

  /**
   * Ends unstored sessions that were opened with another password than `hashOf` answers: a user who changed the
   * password at another node, and ended all sessions there, has not seen these.
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
    // Tokens that were verified hold the session as it was.
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
    // The last login counts for the sessions before as well.
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
