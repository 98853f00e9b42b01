import { isDeepStrictEqual } from 'node:util'
import type { Change, RevisionHeader, StoredRecord } from '../../../storage/config/config-store.ts'
import type { AmendEntry, Entry, FreezeEntry, PromoteEntry, StageEntry } from '../../../storage/config/entry.ts'
import { row, SECTION, type Shown } from './lines.ts'

/**
 * The meaning of entries, written a second time and without regard for speed, from the comments of `entry.ts`. It
 * shares only the entries with the fold.
 */

interface PendingChange {
  readonly changeId: string
  readonly revision: number
  readonly actor: string
  readonly others: readonly string[]
  readonly endpoint: string
  /** Undefined: the record is deleted. */
  readonly value: unknown
}

/** A frozen change, with the value that it will make running. */
interface FrozenChange {
  readonly id: string
  readonly key: string
  readonly before: unknown
  readonly after: StoredRecord | undefined
}

interface MadeChange {
  readonly key: string
  readonly before: unknown
  readonly after: unknown
}

type Fields = Readonly<Record<string, unknown>>
const fieldsOf = (value: unknown): Fields => ({ ...(value as Fields | undefined) })

/** Returns a record with the patch applied: fields set to nothing are removed. */
function patched(value: unknown, patch: Fields): Fields {
  const all = { ...fieldsOf(value), ...patch }
  return Object.fromEntries(Object.entries(all).filter(([, one]) => one !== undefined))
}

/** An entry that is impossible after its predecessors. */
export class NotPossible extends Error {}

export class Model {
  #sequence = 0
  #revision = 0
  #unconfirmed = ''
  readonly #running = new Map<string, StoredRecord>()
  readonly #pending = new Map<string, PendingChange>()
  readonly #frozen = new Map<string, readonly FrozenChange[]>()
  readonly #revisions: { readonly header: RevisionHeader; readonly changes: readonly MadeChange[] }[] = []

  /** @throws {NotPossible} */
  take(entry: Entry): void {
    switch (entry.op) {
      case 'stage':
        return this.#stage(entry)
      case 'freeze':
        return this.#freeze(entry)
      case 'thaw':
        return this.#thaw(entry.applyId)
      case 'promote':
        return this.#promote(entry)
      case 'amend':
        return this.#amend(entry)
      case 'confirm':
        if (this.#unconfirmed === entry.applyId) this.#unconfirmed = ''
        return
      default:
        return
    }
  }

  /** Returns the record with its pending change; undefined: no record. */
  candidate(key: string): StoredRecord | undefined {
    const pending = this.#pending.get(key)
    if (pending === undefined) return this.#running.get(key)
    return pending.value === undefined ? undefined : { value: pending.value, revision: pending.revision }
  }

  /** Returns the names that more than one record has. */
  namesTwice(): readonly string[] {
    const keys = new Set([...this.#running.keys(), ...this.#pending.keys()])
    const names = [...keys].flatMap((key) => {
      const found = this.candidate(key)
      return found === undefined ? [] : [String(fieldsOf(found.value)['name'])]
    })
    return names.filter((name, index) => names.indexOf(name) < index)
  }

  show(): Shown {
    return {
      sequence: this.#sequence,
      revision: this.#revision,
      unconfirmed: this.#unconfirmed,
      running: [...this.#running].map(([key, { revision, value }]) => row(key, revision, value)),
      pending: [...this.#pending].map(([key, { changeId, revision, actor, others, endpoint, value }]) =>
        row(key, changeId, revision, actor, others.length === 0 ? undefined : others, endpoint, value),
      ),
      frozen: [...this.#frozen].flatMap(([applyId, changes]) =>
        changes.map(({ id, key, before, after }) => row(applyId, id, key, before, after)),
      ),
      revisions: this.#revisions.map(({ header, changes }) => row(header.revision, header.applyId, header.by, changes)),
    }
  }

  #stage({ origin, writes, discards }: StageEntry): void {
    for (const id of discards) {
      const [key] = [...this.#pending].find(([, { changeId }]) => changeId === id) ?? []
      if (key === undefined) throw new NotPossible(`the change ${id} is taken back and not pending`)
      if (this.#isFrozen(id)) throw new NotPossible(`the change ${id} is taken back and frozen`)
      this.#pending.delete(key)
    }
    for (const { section, key, value, changeId: newId } of writes) {
      if (section !== SECTION) throw new NotPossible(`nobody writes to ${section}`)
      this.#sequence += 1
      const known = this.#pending.get(key)
      const changeId = known?.changeId ?? newId
      const before = this.#running.get(key)?.value
      if (isDeepStrictEqual(before, value) && !this.#isFrozen(changeId)) {
        this.#pending.delete(key)
        continue
      }
      const all = new Set(known === undefined ? [] : [...known.others, known.actor])
      all.delete(origin.actor)
      const { actor, endpoint } = origin
      this.#pending.set(key, { changeId, revision: this.#sequence, actor, endpoint, others: [...all], value })
    }
  }

  #freeze({ applyId, changes }: FreezeEntry): void {
    if (this.#frozen.size > 0) throw new NotPossible('two applies are under way')
    const ids = new Set<unknown>(changes)
    const frozen = [...this.#pending]
      .filter(([, { changeId }]) => ids.has(changeId))
      .sort(([, one], [, other]) => one.revision - other.revision)
      .map(([key, { changeId }]): FrozenChange => {
        return { id: changeId, key, before: this.#running.get(key)?.value, after: this.candidate(key) }
      })
    if (frozen.length < ids.size) throw new NotPossible('what is frozen is not pending')
    this.#frozen.set(applyId, frozen)
  }

  #thaw(applyId: string): void {
    if (!this.#frozen.delete(applyId)) throw new NotPossible(`${applyId} is thawed and not frozen`)
    for (const [key, { value }] of this.#pending)
      if (isDeepStrictEqual(this.#running.get(key)?.value, value)) this.#pending.delete(key)
  }

  #promote({ header, changes, unconfirmed, unstaged = false }: PromoteEntry): void {
    const { applyId, revision } = header
    if (revision !== this.#revision + 1) throw new NotPossible(`revision ${revision} follows ${this.#revision}`)
    const promoted = changes === undefined ? this.#frozen.get(applyId) : this.#unfrozen(changes)
    if (promoted === undefined) throw new NotPossible(`${applyId} is made running and not frozen`)
    const made = promoted.map(({ id, key, after, before }) => {
      const isNew = (unstaged || id === '') && after !== undefined
      return { key, before, after: isNew ? { value: after.value, revision: (this.#sequence += 1) } : after }
    })
    if (unstaged) for (const { key, before, after } of made) this.#follow(key, before, after)
    for (const { key, after } of made) {
      if (!unstaged && isDeepStrictEqual(this.#pending.get(key)?.value, after?.value)) this.#pending.delete(key)
      if (after === undefined) this.#running.delete(key)
      else this.#running.set(key, after)
    }
    this.#frozen.delete(applyId)
    this.#revision = revision
    this.#unconfirmed = unconfirmed?.applyId ?? ''
    this.#revisions.push({
      header,
      changes: made.map(({ key, before, after }) => ({ key, before: before ?? null, after: after?.value ?? null })),
    })
  }

  #unfrozen(changes: readonly Change[]): readonly FrozenChange[] {
    if (this.#frozen.size > 0) throw new NotPossible('two applies are under way')
    return changes.map(({ id, key, before, after }) => {
      if (!isDeepStrictEqual(this.#running.get(key), before)) throw new NotPossible(`${key} was changed meanwhile`)
      if (id !== '' && this.#pending.get(key)?.changeId !== id) throw new NotPossible(`${id} is not pending`)
      return { id, key, before: before?.value, after }
    })
  }

  #amend({ key: { key }, patch }: AmendEntry): void {
    if (this.#frozen.size > 0) throw new NotPossible('an apply is under way')
    const before = this.#running.get(key)
    if (before === undefined) throw new NotPossible(`${key} does not run`)
    this.#sequence += 1
    const after = { value: patched(before.value, patch), revision: this.#sequence }
    this.#follow(key, before.value, after)
    this.#running.set(key, after)
  }

  /** A pending change keeps its own edits, and adopts other changes of running. */
  #follow(key: string, before: unknown, after: StoredRecord | undefined): void {
    const pending = this.#pending.get(key)
    if (pending?.value === undefined || after === undefined) return
    const [old, next, wanted] = [fieldsOf(before), fieldsOf(after.value), fieldsOf(pending.value)]
    const names = Object.keys({ ...old, ...next })
    const free = names.filter((name) => isDeepStrictEqual(old[name], wanted[name]))
    const value = patched(wanted, Object.fromEntries(free.map((name) => [name, next[name]])))
    if (isDeepStrictEqual(value, after.value)) this.#pending.delete(key)
    else this.#pending.set(key, { ...pending, value, revision: after.revision })
  }

  #isFrozen(changeId: string): boolean {
    return [...this.#frozen.values()].some((changes) => changes.some(({ id }) => id === changeId))
  }
}
