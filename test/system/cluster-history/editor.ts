import { randomBytes } from 'node:crypto'
import type { Change, Origin, StoredRecord } from '../../../storage/config/config-store.ts'
import type { Entry, StagedWrite } from '../../../storage/config/entry.ts'
import type { LmdbConfigStore } from '../../../storage/config/lmdb-config-store.ts'
import { SECTION, type Signed, type SignedEntry, type Thing } from './lines.ts'

/** So few that two editors occasionally pick the same name. */
const NAMES = 60
const LARGE_RECORDS = 2
const LARGE_BYTES = 225 * 1024

/** An operation that was not carried out: its precondition has changed, or there is nothing to do. */
export class Refused extends Error {}

/** The decision of an operation in its turn; what it saw before may have changed by then. */
type Decide = () => Entry | { readonly entry: Entry; readonly expects: Signed['expects'] }

const thingOf = ({ value }: StoredRecord): Thing => value as Thing
const at = (id: string) => ({ section: SECTION, scope: '', key: id })

/** A person or program that edits at random through the store of a node. */
export class Editor {
  readonly #store: LmdbConfigStore
  readonly #random: () => number
  readonly #actor: string

  constructor(store: LmdbConfigStore, actor: string, random: () => number) {
    this.#store = store
    this.#actor = actor
    this.#random = random
  }

  /** Chooses the next operation. Only its intention is fixed before its turn. */
  next(operation: string): { readonly kind: string; readonly decide: Decide } {
    const kinds: readonly (readonly [share: number, kind: string, make: (operation: string) => Decide])[] = [
      [24, 'create', (name) => this.#create(name)],
      [24, 'change', (name) => this.#change(name)],
      [8, 'remove', (name) => this.#remove(name)],
      [6, 'swap', (name) => this.#swap(name)],
      [8, 'discard', (name) => this.#discard(name)],
      [1, 'large', (name) => this.#large(name)],
      [12, 'apply', (name) => this.#apply(name)],
      [4, 'confirm', () => this.#confirm()],
      [7, 'amend', (name) => this.#amend(name)],
      [3, 'revert', (name) => this.#revert(name)],
    ]
    let left = this.#below(kinds.reduce((sum, [share]) => sum + share, 0))
    for (const [share, kind, make] of kinds) {
      left -= share
      if (left < 0) return { kind, decide: make(operation) }
    }
    throw new Error('the shares do not add up')
  }

  /** Carries out the operation. Throws the store's errors, or `Refused`. */
  async carryOut(operation: string, decide: Decide): Promise<void> {
    await this.#store.edit(() => {
      const decided = decide()
      const { entry, expects } = 'entry' in decided ? decided : { entry: decided, expects: [] }
      const signed: SignedEntry = { ...entry, operation, expects }
      return { result: undefined, entry: signed }
    })
  }

  #create(operation: string): Decide {
    const name = this.#name()
    return () => {
      this.#assertFree(name)
      return this.#stage(operation, [{ id: operation, name, weight: this.#below(100) }])
    }
  }

  /** A change with a condition, like If-Match. */
  #change(operation: string): Decide {
    const seen = this.#pick(this.#all())
    const name = this.#random() < 0.4 ? this.#name() : undefined
    const isBack = this.#random() < 0.2
    return () => {
      if (seen === undefined) throw new Refused('there is nothing to change')
      const thing = thingOf(seen)
      this.#assertSame(seen)
      const running = this.#store.running.get(SECTION, '', thing.id)
      const next =
        isBack && running !== undefined
          ? thingOf(running)
          : { ...thing, name: name ?? thing.name, weight: this.#below(100) }
      this.#assertFree(next.name, thing.id)
      return { entry: this.#stage(operation, [next]), expects: [{ id: thing.id, revision: seen.revision }] }
    }
  }

  #remove(operation: string): Decide {
    const seen = this.#pick(this.#all())
    return () => {
      if (seen === undefined) throw new Refused('there is nothing to remove')
      const { id } = thingOf(seen)
      this.#assertSame(seen)
      return { entry: this.#stage(operation, [id]), expects: [{ id, revision: seen.revision }] }
    }
  }

  /** Two records swap names: both or neither. */
  #swap(operation: string): Decide {
    const both = [this.#pick(this.#all()), this.#pick(this.#all())]
    return () => {
      const [one, other] = both
      if (one === undefined || other === undefined || thingOf(one).id === thingOf(other).id)
        throw new Refused('two records are needed')
      this.#assertSame(one)
      this.#assertSame(other)
      const [first, second] = [thingOf(one), thingOf(other)]
      const writes = [
        { ...first, name: second.name },
        { ...second, name: first.name },
      ]
      const expects = [one, other].map((seen) => ({ id: thingOf(seen).id, revision: seen.revision }))
      return { entry: this.#stage(operation, writes), expects }
    }
  }

  /** The remaining changes must not repeat a name, and frozen changes stay. */
  #discard(operation: string): Decide {
    return () => {
      const some = this.#store.changes().filter(({ id }) => !this.#store.isFrozen(id) && this.#random() < 0.15)
      const back = new Map(some.map(({ key, before }) => [key, before]))
      const kept = this.#all().filter((one) => !back.has(thingOf(one).id))
      const names = [...kept, ...back.values()].flatMap((one) => (one === undefined ? [] : [thingOf(one).name]))
      if (some.length === 0) throw new Refused('there is nothing to discard')
      if (new Set(names).size < names.length) throw new Refused('a name would be there twice')
      const ids = some.map(({ id }) => id)
      return { op: 'stage', origin: this.#origin(operation), writes: [], discards: ids }
    }
  }

  /** An entry that is written to the log in parts. */
  #large(operation: string): Decide {
    const id = `large-${this.#below(LARGE_RECORDS)}`
    const bulk = randomBytes(LARGE_BYTES).toString('base64')
    return () => {
      this.#assertFree(id, id)
      const revision = this.#store.candidate.get(SECTION, '', id)?.revision ?? null
      return {
        entry: this.#stage(operation, [{ id, name: id, weight: this.#below(100), bulk }]),
        expects: [{ id, revision }],
      }
    }
  }

  /** Continues the apply in progress, whichever editor began it, or begins one. */
  #apply(operation: string): Decide {
    return () => {
      const [frozen] = this.#store.folding.records().frozen
      if (frozen !== undefined) {
        const { applyId } = frozen
        return this.#random() < 0.3 ? { op: 'thaw', applyId } : this.#promotion(applyId)
      }
      const some = this.#store.changes().filter(() => this.#random() < 0.7)
      if (some.length === 0) throw new Refused('there is nothing to apply')
      if (this.#random() < 0.2) return { ...this.#promotion(operation), changes: some }
      return { op: 'freeze', applyId: operation, changes: some.map(({ id }) => id) }
    }
  }

  #promotion(applyId: string) {
    const revision = this.#store.revision + 1
    const by = this.#actor
    const deadline = { bootId: 'a boot', uptime_ms: this.#below(1_000_000) }
    const waits = { applyId, revision, by, confirmBy: new Date().toISOString(), deadline }
    const unconfirmed = this.#random() < 0.4 ? waits : undefined
    const header = { applyId, revision, by, at: new Date().toISOString(), comment: '' }
    return { op: 'promote', header, unconfirmed } as const
  }

  #confirm(): Decide {
    return () => {
      const waits = this.#store.unconfirmed()
      if (waits === undefined) throw new Refused('nothing waits')
      return { op: 'confirm', applyId: waits.applyId }
    }
  }

  /** Sets a field, or removes it. */
  #amend(operation: string): Decide {
    const note = this.#random() < 0.5 ? operation : undefined
    return () => {
      const seen = this.#settled()
      const { id } = thingOf(seen)
      return { op: 'amend', key: at(id), patch: { note } }
    }
  }

  /** Unstaged changes that are made running at once. */
  #revert(operation: string): Decide {
    return () => {
      const before = this.#settled()
      const value = { ...thingOf(before), weight: this.#below(100) }
      const after = { value, revision: before.revision }
      const change: Change = { id: '', ...at(value.id), ...this.#origin(operation), revision: 0, before, after }
      return { ...this.#promotion(operation), changes: [change], unstaged: true }
    }
  }

  /** A running record, when no apply is in progress. */
  #settled(): StoredRecord {
    if (this.#store.folding.records().frozen.length > 0) throw new Refused('an apply is under way')
    const seen = this.#pick(this.#store.running.list(SECTION, ''))
    if (seen === undefined) throw new Refused('nothing runs')
    return seen
  }

  #all(): readonly StoredRecord[] {
    return this.#store.candidate.list(SECTION, '')
  }

  #assertFree(name: string, id?: string): void {
    if (this.#all().some((one) => thingOf(one).name === name && thingOf(one).id !== id))
      throw new Refused('the name is taken')
  }

  #assertSame(seen: StoredRecord): void {
    const now = this.#store.candidate.get(SECTION, '', thingOf(seen).id)
    if (now?.revision !== seen.revision) throw new Refused('it was changed meanwhile')
  }

  #stage(operation: string, things: readonly (Thing | string)[]): Entry {
    const writes = things.map((thing, index): StagedWrite => {
      const changeId = `${operation}-${index}`
      if (typeof thing === 'string') return { ...at(thing), value: undefined, changeId }
      return { ...at(thing.id), value: thing, changeId }
    })
    return { op: 'stage', origin: this.#origin(operation), writes, discards: [] }
  }

  #origin(operation: string): Origin {
    return { actor: this.#actor, endpoint: operation, at: new Date().toISOString() }
  }

  #name(): string {
    return `name-${this.#below(NAMES)}`
  }

  #pick<T>(some: readonly T[]): T | undefined {
    return some[this.#below(some.length)]
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }
}
