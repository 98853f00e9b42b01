import { isDeepStrictEqual } from 'node:util'
import type { ConfigStore, Origin, StoredRecord, Write } from '../../storage/config/config-store.ts'
import { mergeSorted } from '../../storage/config/sorted-records.ts'
import type { SectionEditor } from '../context/sections.ts'
import type { TakenBack } from '../context/staging.ts'
import { ApiError, type FieldError } from '../base/errors.ts'
import { nameKey } from '../base/name-key.ts'
import {
  type ConfigView,
  type RecordChange,
  type Reference,
  SECTIONS,
  SECTION_NAMES,
  type SectionName,
  type SectionRecords,
} from '../model/sections.ts'
import { nameRecord, nameUsers } from '../rules/names.ts'
import { resolveReference } from '../rules/references.ts'
import { type Discarded, discardable } from './discard.ts'
import { refuseMismatch } from './if-match.ts'
import { judgedWrites, madeBy } from './made.ts'
import { type May, refuseForeign } from './needed-rights.ts'
import { assertRecord } from './record-schema.ts'
import { refuseBroken } from './whole.ts'
import type { TransactionWrite } from './transactions.ts'
import { inTurns } from '../base/turns.ts'
import { asUnset } from './unset.ts'
import { usageOf } from './usage.ts'
import { asRecord, CLUSTER, configView } from './views.ts'

const keyOf = ({ section, key }: Pick<Write, 'section' | 'key'>) => `${section}\0${key}`

/** `{…patch}` without its undefined values: JSON has none, and an omitted field keeps what is stored. */
function defined<T extends object>(record: T): T {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T
}

const nameOf = <N extends SectionName>(section: N, record: SectionRecords[N]): string =>
  nameKey(String(record[SECTIONS[section].nameField]))
const othersThan = (id: string, ids: readonly string[] = []) => ids.filter((other) => other !== id)
const addName = (names: Map<string, readonly string[]>, name: string, id: string) =>
  names.set(name, [...(names.get(name) ?? []), id])

/**
 * The edits of one request over the candidate. Each edit is checked when it is made; `writes` then become one durable
 * write. Only one draft with edits exists at a time (see `Editing`), so checks and write see the same candidate.
 */
export class Draft {
  readonly #store: ConfigStore
  readonly #ifMatch: string | undefined
  readonly #edits = new Map<string, Write>()
  /** The edits that the transaction of this request already holds. */
  readonly #base: ReadonlyMap<string, TransactionWrite>
  /** Sections in which a name was looked up. */
  readonly #asked = new Set<SectionName>()
  /** Ids by the key of their name, for each section in which names were looked up more than once. */
  readonly #names = new Map<SectionName, Map<string, readonly string[]>>()
  #matched = false
  /** Ids of the pending changes that this request takes back. */
  readonly discarded: string[] = []
  /** The ETag of the record that was read last. */
  tagRead: string | undefined

  constructor(store: ConfigStore, ifMatch?: string, base: readonly TransactionWrite[] = []) {
    this.#store = store
    this.#ifMatch = ifMatch
    this.#base = new Map(base.map((write) => [keyOf(write), write]))
    for (const [key, write] of this.#base) this.#edits.set(key, write)
  }

  /** The edits of this draft, including those of its transaction. */
  get writes(): readonly Write[] {
    return [...this.#edits.values()]
  }

  /** The edits in the form in which a transaction stores them. */
  get transactionWrites(): readonly TransactionWrite[] {
    let lowest = [...this.#base.values()].reduce((least, { revision }) => Math.min(least, revision), 0)
    return [...this.#edits].map(([key, write]) => {
      const known = this.#base.get(key)
      if (known === write) return known
      const base = known === undefined ? (this.#candidate(write.section, write.key)?.revision ?? null) : known.base
      return { ...write, base, revision: (lowest -= 1) }
    })
  }

  /** The changes that this request made. */
  get made(): readonly RecordChange[] {
    return madeBy(this.#store, this.#base, this.#edits)
  }

  /** Checks every edit again, as if it were made now: its references and its author's rights may have changed. */
  checkAll(origin: Origin, may: May): void {
    refuseForeign(
      judgedWrites(this.#store, this.writes, origin),
      may,
      'leave it out, or roll the transaction back',
      () => this.view,
    )
    for (const write of this.#edits.values()) this.#checkAgain(write)
  }

  #checkAgain({ section: stored, key, value }: Write): void {
    const section = SECTION_NAMES.find((name) => name === stored)
    if (section === undefined) throw new Error(`there is no section ${stored}`)
    if (value === undefined) return this.#refuseUsed(section, key, this.#candidate(section, key)?.value)
    const record = asRecord(section, value)
    this.#checkName(section, record)
    this.#checkReferences(section, record)
  }

  discard(which: Discarded, may: May): TakenBack {
    const { ids, others } = discardable(this.#store, which, may)
    // A loop, because a call accepts only some tens of thousands of arguments.
    for (const id of ids) this.discarded.push(id)
    return { count: ids.length, others }
  }

  /** The candidate with these edits. */
  readonly view: ConfigView = {
    get: (section, id) => this.#find(section, id),
    list: (section) => this.#list(section),
  }

  /**
   * Makes many edits that belong together. Refuses with all problems at once if they would leave the candidate broken.
   */
  async rewrite(writes: Iterable<Write>, refuse: (view: ConfigView) => Promise<void> = refuseBroken): Promise<void> {
    this.#names.clear()
    await inTurns(writes, (write) => this.#edits.set(keyOf(write), write))
    await refuse(this.view)
  }

  section<N extends SectionName>(name: N): SectionEditor<N> {
    return {
      find: (id) => this.#find(name, id),
      get: (id) => this.#get(name, id),
      settings: (id) => this.#read(name, id),
      list: () => this.#list(name),
      create: (record) => this.#create(name, record),
      put: (record, without) => this.#put(name, record, without),
      merge: (id, patch) => this.#merge(name, id, patch),
      refuseInUse: (id) => this.#refuseInUse(name, id),
      remove: (id) => this.#remove(name, id),
    }
  }

  #candidate(section: string, id: string): StoredRecord | undefined {
    return this.#store.candidate.get(section, CLUSTER, id)
  }

  #find<N extends SectionName>(section: N, id: string): SectionRecords[N] | undefined {
    // A backend refers to thousands of records: no key is built for each of them while no edit exists.
    const edit = this.#edits.size === 0 ? undefined : this.#edits.get(keyOf({ section, key: id }))
    const value = edit === undefined ? this.#candidate(section, id)?.value : edit.value
    return value === undefined ? undefined : asRecord(section, value)
  }

  #get<N extends SectionName>(section: N, id: string): SectionRecords[N] {
    const record = this.#find(section, id)
    if (record === undefined) throw new ApiError('NOT_FOUND', `There is no ${SECTIONS[section].label} with id ${id}`)
    this.#read(section, id)
    return record
  }

  #read<N extends SectionName>(section: N, id: string): SectionRecords[N] | undefined {
    const record = this.#find(section, id)
    this.tagRead = this.#tagOf(section, id)
    this.#match(this.tagRead)
    return record
  }

  #list<N extends SectionName>(section: N): readonly SectionRecords[N][] {
    const stored = this.#store.candidate.list(section, CLUSTER).map((entry) => asRecord(section, entry.value))
    if (this.#edits.size === 0) return stored
    const edited = [...this.#edits.values()].filter((edit) => edit.section === section)
    const records = edited.map(
      ({ key, value }) => [key, value === undefined ? value : asRecord(section, value)] as const,
    )
    return mergeSorted(stored, ({ id }) => id, new Map(records))
  }

  #create<N extends SectionName>(section: N, record: SectionRecords[N]): void {
    if (this.#find(section, record.id) !== undefined) {
      throw new ApiError('ID_NOT_UNIQUE', `Another ${SECTIONS[section].label} already has the id ${record.id}`, {
        errors: [{ field: 'id', code: 'ID_NOT_UNIQUE', message: 'is taken' }],
      })
    }
    this.#checkName(section, record)
    this.#write(section, record)
  }

  #put<N extends SectionName>(
    section: N,
    record: SectionRecords[N],
    without: Omit<SectionRecords[N], 'id'> | undefined,
  ): void {
    const { id } = record
    const before = this.#read(section, id)
    this.#checkName(section, record, before)
    const isNone = without !== undefined && isDeepStrictEqual(record, { ...without, id })
    if (!isNone || this.#store.agreed.get(section, CLUSTER, id) !== undefined) return this.#write(section, record)
    // A record that is only pending is removed again, unless another record refers to it.
    if (before === undefined) return
    this.#set(section, id, usageOf(this.view, section, id).length > 0 ? record : undefined)
  }

  #merge<N extends SectionName>(
    section: N,
    id: string,
    patch: { readonly [K in keyof SectionRecords[N]]?: SectionRecords[N][K] | undefined },
  ): void {
    const before = this.#get(section, id)
    const after: SectionRecords[N] = { ...before, ...defined(patch) }
    this.#checkName(section, after, before)
    const known = this.#store.agreed.get(section, CLUSTER, id)?.value
    this.#write(section, asUnset(section, after, known === undefined ? before : asRecord(section, known)))
  }

  #refuseInUse(section: SectionName, id: string): void {
    this.#refuseUsed(section, id, this.#get(section, id))
  }

  #refuseUsed(section: SectionName, id: string, record: unknown): void {
    const usage = usageOf(this.view, section, id)
    if (usage.length === 0) return
    const name = String(Reflect.get(Object(record), SECTIONS[section].nameField))
    const message = `The ${nameRecord(section, { id, name })} is used by ${nameUsers(usage)}`
    throw new ApiError('IN_USE', message, { data: { usage } })
  }

  #remove(section: SectionName, id: string): void {
    this.#refuseInUse(section, id)
    this.#set(section, id, undefined)
  }

  #write<N extends SectionName>(section: N, record: SectionRecords[N]): void {
    assertRecord(section, record)
    this.#checkReferences(section, record)
    this.#set(section, record.id, record)
  }

  #set<N extends SectionName>(section: N, id: string, value: SectionRecords[N] | undefined): void {
    const names = this.#names.get(section)
    if (names !== undefined) {
      const old = this.#find(section, id)
      if (old !== undefined) names.set(nameOf(section, old), othersThan(id, names.get(nameOf(section, old))))
      if (value !== undefined) addName(names, nameOf(section, value), id)
    }
    this.#edits.set(keyOf({ section, key: id }), { section, scope: CLUSTER, key: id, value })
  }

  /** If-Match refers to the record that the request names, which is the first one its handler reads. */
  #match(tag: string): void {
    if (this.#ifMatch === undefined || this.#matched) return
    this.#matched = true
    refuseMismatch(this.#ifMatch, tag)
  }

  /** Returns the revision of the record, in a transaction that of its edits; 0 for settings that were never stored. */
  #tagOf(section: SectionName, id: string): string {
    const newest = this.#revisionOf(section, id) ?? 0
    const own = this.#base.get(keyOf({ section, key: id }))
    const { shownWith } = SECTIONS[section]
    if (shownWith.length === 0) return String(own?.revision ?? newest)
    let lowest = own?.revision ?? 0
    for (const edit of this.#base.values())
      if (shownWith.some((other) => other === edit.section)) lowest = Math.min(lowest, edit.revision)
    // Records shown with it can still be edited outside the transaction.
    return lowest === 0 ? String(newest) : `${lowest}.${newest}`
  }

  /**
   * Returns the newest revision among the records that an answer about this one shows: a group shows its members, so a
   * new member counts.
   */
  #revisionOf(section: SectionName, id: string): number | undefined {
    let newest = this.#candidate(section, id)?.revision
    const { shownWith } = SECTIONS[section]
    // Most records stand alone, and the list of changes may be long.
    if (shownWith.length === 0) return newest
    for (const other of shownWith) {
      for (const { revision } of this.#store.candidate.list(other, CLUSTER)) newest = Math.max(newest ?? 0, revision)
    }
    for (const change of this.#store.changes()) {
      if (shownWith.some((other) => other === change.section)) newest = Math.max(newest ?? 0, change.revision)
    }
    return newest
  }

  /** The record `before` the edit may keep its name. */
  #checkName<N extends SectionName>(section: N, record: SectionRecords[N], before?: SectionRecords[N]): void {
    const { nameField } = SECTIONS[section]
    if (before !== undefined && record[nameField] === before[nameField]) return
    const [id] = othersThan(record.id, this.#named(section, nameOf(section, record)))
    const other = id === undefined ? undefined : this.#find(section, id)
    if (other === undefined) return
    const named = nameRecord(section, { id: other.id, name: String(other[nameField]) })
    throw new ApiError('NAME_NOT_UNIQUE', `The name is already taken by the ${named}`, {
      errors: [{ field: nameField, code: 'NAME_NOT_UNIQUE', message: 'is taken' }],
    })
  }

  /**
   * Returns the ids of the records with this name. A single edit does without an index of all that is pending; a plan
   * builds one.
   */
  #named(section: SectionName, name: string): readonly string[] | undefined {
    let names = this.#names.get(section)
    if (names === undefined) {
      if (!this.#asked.has(section)) {
        this.#asked.add(section)
        return this.#namedNow(section, name)
      }
      names = new Map()
      for (const record of this.#list(section)) addName(names, nameOf(section, record), record.id)
      this.#names.set(section, names)
    }
    return names.get(name)
  }

  #namedNow(section: SectionName, name: string): readonly string[] {
    const applied = [...configView(this.#store.agreed).list(section)].filter((one) => nameOf(section, one) === name)
    const changed = [...this.#store.changes(), ...this.#edits.values()].filter((change) => change.section === section)
    const ids = new Set([...applied.map(({ id }) => id), ...changed.map(({ key }) => key)])
    return [...ids].filter((id) => {
      const record = this.#find(section, id)
      return record !== undefined && nameOf(section, record) === name
    })
  }

  /** Names the missing record if it is running. */
  #missing({ section, id }: Reference): string {
    const gone = this.#store.running.get(section, CLUSTER, id)?.value
    if (gone === undefined) return `there is no ${SECTIONS[section].label} with id ${id}`
    const name = String(Reflect.get(asRecord(section, gone), SECTIONS[section].nameField))
    return `the ${nameRecord(section, { id, name })} is deleted by a pending change`
  }

  #checkReferences<N extends SectionName>(section: N, record: SectionRecords[N]): void {
    const errors: FieldError[] = []
    for (const reference of SECTIONS[section].references(record)) {
      if (resolveReference(this.view, reference) !== undefined) continue
      const message = this.#missing(reference)
      errors.push({ field: reference.field, code: 'NOT_FOUND', message })
    }
    if (errors.length > 0)
      throw new ApiError('INVALID_BODY', 'The body refers to records that do not exist', { errors })
  }
}
