import { FIRST_EPOCH, historyOf, LEVEL_ROW, TAKEOVER_ROW } from '../../storage/config/cluster-rows.ts'
import type { Put, SharedTable } from '../../storage/config/config-store.ts'
import type { LevelEntry, Takeover } from '../../storage/config/entry.ts'
import type { AuthorityRole } from '../cluster/authority.ts'
import { FIRST_LEVEL } from '../cluster/levels.ts'
import type { KeyNotice, KeyRecipient } from '../cluster/key-notice.ts'
import type { NodeMaintenance } from '../context/cluster.ts'
import type { NodeAddress } from './node-address.ts'

/** A node or witness with an etcd member, as all nodes store it. */
export interface Voter extends NodeAddress {
  readonly id: string
  /** Name for people; unique. */
  readonly name: string
  /** Pin of the key that it presents to peers, see `pinOf`. */
  readonly pin: string
  /** Serial numbers of its certificates, which are revoked when it is removed. */
  readonly serials: readonly string[]
  /** ISO 8601: end of the first of its certificates to expire. */
  readonly certificateEnd?: string
  /** Number of the authorities that issued its certificates. */
  readonly certifiedBy: number
  /** Number of the newest authorities whose certificates its ports accept. */
  readonly trusts: number
  /** Version of Fulcrum, as last announced. */
  readonly version: string
  /** ISO 8601. */
  readonly since: string
}

/** A node of the cluster. */
export interface Member extends Voter, KeyRecipient {
  /** PEM: key that verifies its tokens. */
  readonly tokenKey: string
  /** PEM: certificate that its HAProxy presents to the others; absent until announced. */
  readonly haproxy?: string
  /** Level of the entry kinds that it knows, see `levels.ts`; absent if an older version made the record. */
  readonly level?: number
  /** Present during maintenance. `until`: it ends automatically, at the latest with this boot of the machine. */
  readonly maintenance?: NodeMaintenance & { readonly until?: string }
}

/**
 * A removed node, for as long as its certificates would be valid. `marked`: no node answers it any more, and etcd has
 * yet to release it; `out`: it is no etcd member, and the cluster key has yet to be replaced; `done`.
 */
export interface Removed {
  readonly member: Voter
  /** A witness leaves no place for another node, and never had the cluster key. */
  readonly isWitness?: true
  readonly stage: 'marked' | 'out' | 'done'
  /** ISO 8601. */
  readonly at: string
  /** Id of the node that was asked to remove it. */
  readonly by: string
  /** Whether it was up when it was removed, and so becomes a single node on its own. */
  readonly isLeaving: boolean
  /** Id of the cluster key that it had. */
  readonly keyId: string
}

/** Two authorities of the cluster, for peers and clients. Their keys are in etcd, sealed. */
export interface AuthorityPair {
  /** Greater than the number of every earlier pair. */
  readonly number: number
  /** Id of the cluster key that sealed their keys. */
  readonly keyId: string
  /** PEM. */
  readonly certificates: Readonly<Record<AuthorityRole, string>>
}

/** Settings that the two nodes of a pair share. */
export interface PairSettings {
  /** Id of the node that continues automatically. */
  readonly preferredNode: string
  /** Seconds for which the other node must have been gone. */
  readonly takeoverAfter_s: number
}

const PAIR_SETTINGS = 'pair'
const WITNESS = 'witness/'
const REMOVED = 'removed/'
const KEY = 'key/'
const PAIR = 'authorities/'

/** The nodes of the cluster, on which all of them agree; none without a cluster. */
export class Members {
  readonly #table: SharedTable
  readonly #byId = new Map<string, Member>()
  readonly #byPin = new Map<string, string>()
  /** By pin: a node that joins again has another key. */
  readonly #removed = new Map<string, Removed>()
  readonly #keys = new Map<string, KeyNotice>()
  readonly #pairs = new Map<string, AuthorityPair>()
  readonly #takeovers = new Map<string, Takeover>()
  /** At most one. */
  readonly #witnesses = new Map<string, Voter>()
  #level = FIRST_LEVEL
  #pair: PairSettings | undefined
  #told: readonly (() => void)[] = []

  constructor(table: SharedTable) {
    this.#table = table
    for (const { key, value } of table.entries()) this.#learn(key, value)
    this.#index()
    table.follow(({ puts, removed }) => {
      for (const key of removed) this.#forget(key)
      for (const { key, value } of puts) this.#learn(key, value)
      this.#index()
      for (const tell of this.#told) tell()
    })
  }

  /** Returns the ids of all other nodes. */
  othersThan(self: string): readonly string[] {
    return this.all().flatMap(({ id }) => (id === self ? [] : [id]))
  }

  all(): readonly Member[] {
    return [...this.#byId.values()].sort((a, b) => (a.since < b.since ? -1 : 1))
  }

  get(id: string): Member | undefined {
    return this.#byId.get(id)
  }

  /** A third vote, without the configuration and the cluster key. It is in no list of nodes. */
  get witness(): Voter | undefined {
    return [...this.#witnesses.values()][0]
  }

  /** The nodes and the witness. */
  voters(): readonly Voter[] {
    return [...this.all(), ...this.#witnesses.values()]
  }

  voter(id: string): Voter | undefined {
    return this.voters().find((voter) => voter.id === id)
  }

  /** Ids of all nodes that etcd may count, including removed ones, until etcd has released them. */
  mayVote(): ReadonlySet<string> {
    const leaving = this.removed().filter(({ stage }) => stage === 'marked')
    return new Set([...this.voters(), ...leaving.map(({ member }) => member)].map(({ id }) => id))
  }

  /** Returns the node with this key. */
  idOf(pin: string): string | undefined {
    return this.#byPin.get(pin)
  }

  removed(): readonly Removed[] {
    return [...this.#removed.values()]
  }

  /** Returns removed nodes whose place another node may take. */
  replaceable(): readonly Voter[] {
    const isFree = ({ stage, member, isWitness }: Removed) =>
      stage === 'done' && isWitness !== true && !this.#byId.has(member.id)
    const gone = this.removed().filter(isFree)
    return [...new Map(gone.map(({ member }) => [member.id, member])).values()]
  }

  /** Returns the removal of the node that had this key. */
  removalOf(pin: string): Removed | undefined {
    return this.#removed.get(pin)
  }

  /** Returns the cluster keys after the first, oldest first. */
  keyNotices(): readonly KeyNotice[] {
    return [...this.#keys.values()].sort((a, b) => a.number - b.number)
  }

  /** Returns the authorities whose certificates are accepted, oldest first. More than one during a change. */
  authorities(): readonly AuthorityPair[] {
    return [...this.#pairs.values()].sort((a, b) => a.number - b.number)
  }

  /** Returns the takeovers, oldest first. */
  takeovers(): readonly Takeover[] {
    return [...this.#takeovers.values()].sort((a, b) => a.epoch - b.epoch)
  }

  /** Number of the history to which these members belong. */
  get epoch(): number {
    return this.takeovers().at(-1)?.epoch ?? FIRST_EPOCH
  }

  /** Name of the history, with which every write is compared. */
  get history(): string {
    return historyOf(this.takeovers().at(-1))
  }

  /** Entries up to this level may be written. */
  get level(): number {
    return this.#level
  }

  get pair(): PairSettings | undefined {
    return this.#pair
  }

  setPair(pair: PairSettings | undefined): Promise<void> {
    return pair === undefined ? this.#table.remove([PAIR_SETTINGS]) : this.#table.put(PAIR_SETTINGS, pair)
  }

  /** Calls `tell` after every change. */
  follow(tell: () => void): void {
    this.#told = [...this.#told, tell]
  }

  /**
   * Adds a node. `build` may run again if another node wrote first; it returns nothing if the node may not be added.
   */
  add(build: () => Member | undefined): Promise<boolean> {
    return this.#putBuilt(build, (member) => ({ key: member.id, value: member }))
  }

  /**
   * Changes a node's record. `build` may run again if another node wrote first; it returns nothing if no change is
   * needed any more.
   */
  change(id: string, build: (member: Member) => Member | undefined): Promise<boolean> {
    const changed = () => {
      const member = this.#byId.get(id)
      return member && build(member)
    }
    return this.#putBuilt(changed, (member) => ({ key: id, value: member }))
  }

  /** Adds the witness. `build` as in `add`. */
  addWitness(build: () => Voter | undefined): Promise<boolean> {
    return this.#putBuilt(build, witnessRow)
  }

  /** Changes the witness's record, if it is still this one. */
  changeWitness(id: string, change: (witness: Voter) => Voter): Promise<boolean> {
    return this.addWitness(() => (this.witness?.id === id ? change(this.witness) : undefined))
  }

  /**
   * Replaces a member by the mark of its removal, in one entry. `build` may run again if another node wrote first; it
   * returns nothing if there is nothing to remove any more.
   */
  remove(build: () => Removed | undefined): Promise<boolean> {
    return this.#table.update(() => {
      const removed = build()
      if (removed === undefined) return undefined
      const { member, isWitness } = removed
      return { puts: [rowOf(removed)], removed: [isWitness === true ? witnessRow(member).key : member.id] }
    })
  }

  /** Changes the mark of a removed member. `build` returns nothing if another node was first. */
  mark(build: () => Removed | undefined): Promise<boolean> {
    return this.#putBuilt(build, rowOf)
  }

  /** Drops removals whose certificates have expired. */
  forget(pins: readonly string[]): Promise<void> {
    return this.#table.remove(pins.map((pin) => `${REMOVED}${pin}`))
  }

  /** Announces a new cluster key. `build` returns nothing if it must not be announced any more. */
  tellKey(build: () => KeyNotice | undefined): Promise<boolean> {
    return this.#putBuilt(build, (notice) => ({ key: `${KEY}${notice.keyId}`, value: notice }))
  }

  /** Announces new authorities. `build` returns nothing if they are known. */
  tellAuthorities(build: () => AuthorityPair | undefined): Promise<boolean> {
    return this.#putBuilt(build, pairRow)
  }

  /** Drops authorities whose certificates are no longer accepted. `build` returns none if they still are. */
  dropAuthorities(build: () => readonly AuthorityPair[]): Promise<boolean> {
    return this.#table.update(() => {
      const removed = build().map((pair) => pairRow(pair).key)
      return removed.length === 0 ? undefined : { puts: [], removed }
    })
  }

  #putBuilt<T>(build: () => T | undefined, toRow: (built: T) => Put): Promise<boolean> {
    return this.#table.update(() => {
      const built = build()
      return built === undefined ? undefined : { puts: [toRow(built)], removed: [] }
    })
  }

  /* oxlint-disable typescript/no-unsafe-type-assertion -- written by this class only */
  #learn(key: string, value: unknown): void {
    if (key.startsWith(REMOVED)) this.#removed.set(key.slice(REMOVED.length), value as Removed)
    else if (key.startsWith(WITNESS)) this.#witnesses.set(key, value as Voter)
    else if (key.startsWith(KEY)) this.#keys.set(key.slice(KEY.length), value as KeyNotice)
    else if (key.startsWith(PAIR)) this.#pairs.set(key, value as AuthorityPair)
    else if (key.startsWith(TAKEOVER_ROW)) this.#takeovers.set(key, value as Takeover)
    else if (key === LEVEL_ROW) this.#level = (value as LevelEntry).level
    else if (key === PAIR_SETTINGS) this.#pair = value as PairSettings
    else this.#byId.set(key, value as Member)
  }
  /* oxlint-enable typescript/no-unsafe-type-assertion */

  #forget(key: string): void {
    this.#byId.delete(key)
    this.#witnesses.delete(key)
    if (key.startsWith(REMOVED)) this.#removed.delete(key.slice(REMOVED.length))
    if (key.startsWith(KEY)) this.#keys.delete(key.slice(KEY.length))
    if (key.startsWith(PAIR)) this.#pairs.delete(key)
    if (key.startsWith(TAKEOVER_ROW)) this.#takeovers.delete(key)
    if (key === LEVEL_ROW) this.#level = FIRST_LEVEL
    if (key === PAIR_SETTINGS) this.#pair = undefined
  }

  #index(): void {
    this.#byPin.clear()
    for (const { id, pin } of this.#byId.values()) this.#byPin.set(pin, id)
  }
}

const witnessRow = (witness: Voter): Put => ({ key: `${WITNESS}${witness.id}`, value: witness })

export const rowOf = (removed: Removed): Put => ({ key: `${REMOVED}${removed.member.pin}`, value: removed })

export const pairRow = (pair: AuthorityPair): Put => ({ key: `${PAIR}${pair.keyId}`, value: pair })
