import type { Put, SharedTable } from '../../storage/config/config-store.ts'
import type { Clock } from '../base/clock.ts'
import { type JoinRole, JoinToken, type Redemption, type StoredJoinToken } from '../cluster/join-token.ts'
import type { JoinTokens as TokensToJoinWith } from '../peers/joining/join-server.ts'

export interface NewToken {
  /** The kind of machine that joins with it. */
  readonly role: JoinRole
  /** Id of the node that issued it. */
  readonly issuedBy: string
  readonly validFor_ms: number
}

/** Tokens with which nodes may join, as all members store them: without their secrets. */
export class JoinTokens implements TokensToJoinWith {
  readonly #table: SharedTable
  readonly #clock: Clock
  /** In memory, because any machine can make a member look up a token. */
  readonly #byId = new Map<string, StoredJoinToken>()

  constructor(table: SharedTable, clock: Clock) {
    this.#table = table
    this.#clock = clock
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by this class only
    const learn = ({ key, value }: Put) => void this.#byId.set(key, value as StoredJoinToken)
    for (const row of table.entries()) learn(row)
    table.follow(({ puts, removed }) => {
      for (const row of puts) learn(row)
      for (const id of removed) this.#byId.delete(id)
    })
  }

  /** Returns the token, whose text is shown only this once. Removes expired ones. */
  async create(
    { role, issuedBy, validFor_ms }: NewToken,
    pin: string,
    addresses: readonly string[],
  ): Promise<JoinToken> {
    const token = JoinToken.create(pin, addresses)
    const stored = token.stored(role, validFor_ms, this.#clock.now_ms())
    const over = [...this.#byId.values()].filter(({ expiresAt_ms }) => expiresAt_ms <= this.#clock.now_ms())
    await this.#table.write(
      [{ key: stored.id, value: { ...stored, issuedBy } }],
      over.map(({ id }) => id),
    )
    return token
  }

  /** Removes the unused tokens that a node has issued, and those that it has used itself. */
  async endOf(nodeId: string): Promise<void> {
    const its = [...this.#byId.values()].filter(
      ({ usedBy, issuedBy }) => usedBy === nodeId || (usedBy === undefined && issuedBy === nodeId),
    )
    if (its.length > 0) await this.#table.remove(its.map(({ id }) => id))
  }

  async kept(id: string): Promise<StoredJoinToken | undefined> {
    return this.#byId.get(id)
  }

  async use(id: string, change: (kept: StoredJoinToken) => Redemption): Promise<Redemption | undefined> {
    let redemption: Redemption | undefined
    await this.#table.update(() => {
      const kept = this.#byId.get(id)
      redemption = kept && change(kept)
      if (redemption === undefined || !('used' in redemption)) return undefined
      return { puts: [{ key: id, value: redemption.used }], removed: [] }
    })
    return redemption
  }
}
