import type { SharedTable } from '../../storage/config/config-store.ts'
import type { NodeAddress } from './node-address.ts'

/** A node of the cluster, as all nodes keep it. */
export interface Member extends NodeAddress {
  readonly id: string
  /** For people; unique. */
  readonly name: string
  /** Of the key that it shows its peers, see `pinOf`. */
  readonly pin: string
  /** Of the certificates that it was given: what is revoked when it is removed. */
  readonly serials: readonly string[]
  /** PEM: what its tokens are verified with. */
  readonly tokenKey: string
  /** Of Fulcrum, when it joined. */
  readonly version: string
  /** ISO 8601. */
  readonly since: string
}

/** The nodes of the cluster, which all of them agree on; none on a node without one. */
export class Members {
  readonly #table: SharedTable
  readonly #byId = new Map<string, Member>()
  readonly #byPin = new Map<string, string>()
  #told: readonly (() => void)[] = []

  constructor(table: SharedTable) {
    this.#table = table
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `put` only
    const learn = (key: string, value: unknown) => this.#byId.set(key, value as Member)
    for (const { key, value } of table.entries()) learn(key, value)
    this.#index()
    table.follow(({ puts, removed }) => {
      for (const { key, value } of puts) learn(key, value)
      for (const key of removed) this.#byId.delete(key)
      this.#index()
      for (const tell of this.#told) tell()
    })
  }

  all(): readonly Member[] {
    return [...this.#byId.values()].sort((a, b) => (a.since < b.since ? -1 : 1))
  }

  get(id: string): Member | undefined {
    return this.#byId.get(id)
  }

  /** The node with this key. */
  idOf(pin: string): string | undefined {
    return this.#byPin.get(pin)
  }

  /** From now on `tell` hears of every change. */
  follow(tell: () => void): void {
    this.#told = [...this.#told, tell]
  }

  put(member: Member): Promise<void> {
    return this.#table.put(member.id, member)
  }

  remove(id: string): Promise<void> {
    return this.#table.remove([id])
  }

  #index(): void {
    this.#byPin.clear()
    for (const { id, pin } of this.#byId.values()) this.#byPin.set(pin, id)
  }
}
