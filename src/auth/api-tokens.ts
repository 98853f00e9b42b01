import { createHash, randomBytes } from 'node:crypto'
import type { Put, SharedTable, SideTable } from '../../storage/config/config-store.ts'
import type { Clock } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import { sameText } from '../base/same-text.ts'
import { validity } from '../base/validity.ts'
import { endedHere, isNoQuorum, Owed } from './owed.ts'

/** Distinguishes a program's token from a session's JWT, and lets scanners find leaked tokens. */
const PREFIX = 'fulcrum_'
const SECRET_BYTES = 32
/** Prefix of the session id of a caller with an API token, followed by the token's id. */
export const TOKEN_SESSION = 'token '
export const isOfToken = (sessionId: string) => sessionId.startsWith(TOKEN_SESSION)
export const TOKENS_PER_USER_MAX = 50

/** A stored token: its maximum rights, and only the hash of its secret. */
export interface ApiToken {
  readonly id: string
  readonly userId: string
  readonly name: string
  /**
   * Ids of endpoints, for which its user must have the right as well; undefined for everything that the user may do.
   */
  readonly endpoints: readonly string[] | undefined
  readonly createdAt_ms: number
  /** Undefined if it is valid until it is revoked. */
  readonly expiresAt_ms: number | undefined
  /** SHA-256, hexadecimal. The secret is random, so a slow hash would add no protection. */
  readonly hash: string
}

export type NewToken = Pick<ApiToken, 'name' | 'endpoints' | 'expiresAt_ms'>

/** Tokens that programs use instead of logging in. Stored outside the configuration, so that a backup revives none. */
export class ApiTokens {
  readonly #table: SharedTable
  readonly #clock: Clock
  readonly #live = new Map<string, ApiToken>()
  /** Tokens that were revoked here and are still valid on other nodes. */
  readonly #owed: Owed<null>

  constructor(table: SharedTable, owed: SideTable, clock: Clock) {
    this.#table = table
    this.#clock = clock
    this.#owed = new Owed(owed, 'apiTokens')
    const learn = ({ key, value }: Put) => {
      if (this.#owed.has(key)) return
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `create` only
      this.#live.set(key, value as ApiToken)
    }
    for (const row of table.entries()) learn(row)
    table.follow(({ puts, removed }) => {
      for (const row of puts) learn(row)
      this.#forget(removed)
    })
  }

  static isOne(token: string): boolean {
    return token.startsWith(PREFIX)
  }

  list(userId?: string): readonly ApiToken[] {
    const all = [...this.#live.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
    return userId === undefined ? all : all.filter((token) => token.userId === userId)
  }

  /** Durable when it resolves. `token` is shown only this once. */
  async create(userId: string, wanted: NewToken): Promise<{ readonly id: string; readonly token: string }> {
    const id = newId()
    const secret = randomBytes(SECRET_BYTES).toString('base64url')
    const stored = { id, userId, ...wanted, createdAt_ms: this.#clock.now_ms(), hash: hashOf(secret) }
    // Reserves the name and the place before the write; nobody knows the secret yet.
    this.#live.set(id, stored)
    try {
      await this.#table.put(id, stored)
    } catch (error) {
      this.#live.delete(id)
      throw error
    }
    return { id, token: `${PREFIX}${id}_${secret}` }
  }

  /** Revokes the matching tokens and resolves with their number. */
  async revoke(gone: (token: ApiToken) => boolean): Promise<number> {
    const ids = this.list()
      .filter(gone)
      .map(({ id }) => id)
    // From now on they are invalid here, even if the write fails.
    this.#forget(ids)
    for (const id of ids) this.#owed.note(id, null)
    await this.payOwed().catch((error: unknown) => {
      if (!isNoQuorum(error)) throw error
      if (ids.length > 0) throw endedHere()
    })
    return ids.length
  }

  payOwed(): Promise<void> {
    return this.#owed.pay((ids) => this.#table.remove(ids))
  }

  #forget(ids: readonly string[]): void {
    for (const id of ids) this.#live.delete(id)
    if (ids.length > 0) validity.endRights()
  }

  /** Returns 0 for an invalid token. */
  expiryOf(token: string): number {
    const known = this.authenticate(token)
    return known === undefined ? 0 : (known.expiresAt_ms ?? Number.MAX_SAFE_INTEGER)
  }

  /** Undefined if the token is unknown, revoked or expired. */
  authenticate(token: string): ApiToken | undefined {
    const rest = token.slice(PREFIX.length)
    const end = rest.indexOf('_')
    const known = this.find(rest.slice(0, end))
    return known !== undefined && sameText(hashOf(rest.slice(end + 1)), known.hash) ? known : undefined
  }

  /** Returns a valid token by its id. */
  find(id: string): ApiToken | undefined {
    const known = this.#live.get(id)
    const isOver = known?.expiresAt_ms !== undefined && known.expiresAt_ms <= this.#clock.now_ms()
    return isOver ? undefined : known
  }
}

const hashOf = (secret: string) => createHash('sha256').update(secret).digest('hex')
