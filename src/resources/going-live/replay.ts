import type { Endpoint } from '../../api/endpoint.ts'
import { ApiError, type ErrorCode, type FieldError, PROBLEMS_TOLD, problemsText } from '../../base/errors.ts'
import type { ContextOf } from '../../context/context.ts'
import type { PlannedEdits } from '../../context/plans.ts'
import { pace } from '../../base/turns.ts'
import { nameKey } from '../../base/name-key.ts'
import { SHARED } from '../../model/node.ts'
import type { SectionName } from '../../model/sections.ts'
import { Lookup, mapReferences } from '../../api/by-name.ts'
import { type ConfigDocument, nameOf, namesIn, renewed, stored } from './document.ts'
import {
  changing,
  differing,
  documented,
  hasRecords,
  type Json,
  type Kinds,
  type RecordKind,
  type SettingsKind,
  tidied,
} from './kinds.ts'

/** The document, and how to make it so. */
export interface Wanted {
  readonly kinds: Kinds
  readonly document: ConfigDocument
  /** Whether records that belong to the document's owner and are not in the document are deleted. */
  readonly prune: boolean
  /** Whether records of other owners become the document owner's. */
  readonly takeOver: boolean
}

/** A stored record and its new values. */
interface Changing {
  readonly old: Json
  /** In the form of a document. */
  readonly is: Json
  readonly wanted: Json
  /** The wanted fields with ids. */
  readonly body: Json
  readonly name: string
}

/** Look-ups of names and ids during one round. */
interface Names {
  readonly byName: Lookup
  readonly byId: (id: string, sections: readonly string[]) => string
}

/** Why a record could not be created, changed or deleted. */
interface Failure {
  readonly section: SectionName
  readonly code: ErrorCode
  readonly problems: readonly FieldError[]
  readonly data: unknown
}

/**
 * Makes the candidate match a document, with the API's own operations to create, change and delete records: so a
 * document is checked, and refused, as requests are. An operation that another record still prevents is retried after
 * the others, as long as a round makes progress.
 */
export class Replay {
  readonly #ctx: ContextOf['stage']
  readonly #wanted: Wanted
  readonly #owner: string
  /** Ids of certificates that documents leave out. */
  readonly #renewed: ReadonlySet<unknown>
  readonly #pace = pace()
  /** Failures by their place in the document. */
  #failures = new Map<string, Failure>()
  /** The operations of this round; undefined for all. */
  #tried: ReadonlySet<string> | undefined

  constructor(ctx: ContextOf['read'], edits: PlannedEdits, wanted: Wanted) {
    // Handlers see the edits of the plan, and everything else that a handler may read.
    this.#ctx = Object.create(ctx, {
      section: { value: (name: SectionName) => edits.section(name) },
    }) as ContextOf['stage']
    this.#wanted = wanted
    this.#owner = wanted.document.owner ?? ''
    this.#renewed = renewed(this.#ctx)
  }

  async run(): Promise<void> {
    this.#refuseUnseen()
    this.#refuseLostNames()
    for (let before = Infinity; ; before = this.#failures.size) {
      this.#failures = new Map()
      await this.#round()
      const { size } = this.#failures
      if (size === 0) return
      if (size >= before) return this.#refuse()
      this.#tried = new Set(this.#failures.keys())
    }
  }

  /** Refuses sections that the caller may not see, because a plan reveals their contents by what it would change. */
  #refuseUnseen(): void {
    const { document, kinds } = this.#wanted
    const unseen = [...kinds.records, ...kinds.settings].filter(
      ({ section, shownBy }) => document[section] !== undefined && !this.#ctx.may(shownBy),
    )
    if (unseen.length === 0) return
    const errors = unseen.map(({ section, shownBy }) => ({
      field: `document.${section}`,
      code: 'PERMISSION_DENIED',
      message: `needs the right ${shownBy}`,
    }))
    throw new ApiError('PERMISSION_DENIED', 'The document has sections that you may not read', { errors })
  }

  /** Refuses a new name that no record of the document has, or that two old names have. */
  #refuseLostNames(): void {
    const { document } = this.#wanted
    const errors = Object.entries(document.renamed ?? {}).flatMap(([section, names]) => {
      const records = document[section as SectionName] ?? {}
      const seen = new Set<string>()
      return Object.entries(names).flatMap(([old, name]): readonly FieldError[] => {
        const why = seen.has(nameKey(name))
          ? 'is the new name of another record'
          : 'is not in the document under this name'
        const isFine = Object.hasOwn(records, name) && !seen.has(nameKey(name))
        seen.add(nameKey(name))
        const field = `document.renamed.${section}.${old}`
        return isFine ? [] : [{ field, code: 'UNKNOWN_NAME', message: `${name} ${why}` }]
      })
    })
    if (errors.length > 0)
      throw new ApiError('INVALID_BODY', 'The document renames records that it does not contain', { errors })
  }

  async #round(): Promise<void> {
    const { records, inOrder } = this.#wanted.kinds
    // Referring records first; records created afterwards may need their names and places.
    if (this.#wanted.prune) for (const kind of records.toReversed()) await this.#prune(kind)
    // Later kinds look a section up, so that happens once none of its records will change any more.
    const names: Names = { byName: new Lookup(this.#ctx, true), byId: namesIn((section) => stored(this.#ctx, section)) }
    for (const kind of inOrder) await (hasRecords(kind) ? this.#records(kind, names) : this.#settings(kind, names))
  }

  async #prune(kind: RecordKind): Promise<void> {
    const { section, remove } = kind
    const names = new Set(Object.keys(this.#wanted.document[section] ?? {}).map(nameKey))
    const records = stored(this.#ctx, section)
    const there = new Set(records.map((record) => nameKey(nameOf(section, record))))
    // A rename that is already done protects no record.
    const renamed = new Set(
      Object.entries(this.#wanted.document.renamed?.[section] ?? {})
        .filter(([, name]) => !there.has(nameKey(name)))
        .map(([old]) => nameKey(old)),
    )
    for (const record of records) {
      const name = nameOf(section, record)
      const isWanted = names.has(nameKey(name)) || renamed.has(nameKey(name)) || this.#renewed.has(record['id'])
      if (isWanted || record['owner'] !== this.#owner) continue
      await this.#try(section, `document.${section}.${name}`, () =>
        this.#call(remove, { id: String(record['id']) }, undefined),
      )
    }
  }

  async #records(kind: RecordKind, { byName, byId }: Names): Promise<void> {
    const { section } = kind
    const records = Object.entries(this.#wanted.document[section] ?? {})
    if (records.length === 0) return
    const storedAs = this.#finder(kind)
    const seen = new Set<string>()
    for (const [name, fields] of records) {
      await this.#try(section, `document.${section}.${name}`, async () => {
        const old = storedAs(name)
        if (seen.has(nameKey(name))) refuse('NAME_NOT_UNIQUE', 'is already in the document, with different letter case')
        if (old !== undefined && this.#renewed.has(old['id'])) refuse('IN_USE', RENEWED)
        const wanted = tidied(kind, this.#withOwner(fields))
        const body = withIds(kind, wanted, byName)
        if (old === undefined) await this.#call(kind.create, {}, { ...body, [kind.nameField]: name })
        else await this.#change(kind, { old, is: documented(kind, old, byId), wanted, body, name })
      })
      seen.add(nameKey(name))
    }
  }

  /** Returns a function that finds the stored record for a name in the document. */
  #finder({ section }: RecordKind): (name: string) => Json | undefined {
    const renamed = Object.entries(this.#wanted.document.renamed?.[section] ?? {})
    const oldNames = new Map(renamed.map(([old, name]) => [nameKey(name), nameKey(old)]))
    const byName = new Map(stored(this.#ctx, section).map((record) => [nameKey(nameOf(section, record)), record]))
    return (name) => byName.get(nameKey(name)) ?? byName.get(oldNames.get(nameKey(name)) ?? '')
  }

  async #change(kind: RecordKind, { old, is, wanted, body, name }: Changing): Promise<void> {
    const fields = differing(kind, is, wanted)
    const isRenamed = nameOf(kind.section, old) !== name
    const { owner = '' } = old
    if (owner !== this.#owner && !this.#wanted.takeOver) {
      // A record that is already as the document wants it may have any owner.
      if (!isRenamed && fields.every((field) => field === 'owner')) return
      const [whose, own] = [owner, this.#owner].map((one) => (one === '' ? 'nobody' : String(one)))
      refuse('NOT_OWNER', `belongs to ${whose}, but the document to ${own}: leave it out, or plan with takeOver`)
    }
    if (!isRenamed && fields.length === 0) return
    const sent = changing(kind, fields, { ...body, [kind.nameField]: name })
    const named = isRenamed ? { ...sent, [kind.nameField]: name } : sent
    await this.#call(kind.update, { id: String(old['id']) }, named)
  }

  #withOwner(fields: Json): Json {
    return this.#owner === '' || 'owner' in fields ? fields : { ...fields, owner: this.#owner }
  }

  async #settings(kind: SettingsKind, { byName, byId }: Names): Promise<void> {
    const { section, update } = kind
    const wanted = this.#wanted.document[section] as Json | undefined
    if (wanted === undefined) return
    await this.#try(section, `document.${section}`, async () => {
      const old = (this.#ctx.section(section).find(SHARED) ?? {}) as object as Json
      const tidy = tidied(kind, wanted)
      const fields = differing(kind, documented(kind, old, byId), tidy)
      if (fields.length === 0) return
      await this.#call(update, {}, changing(kind, fields, withIds(kind, tidy, byName)))
    })
  }

  /** Does what the API does for a request. */
  async #call(endpoint: Endpoint, params: Json, body: Json | undefined): Promise<void> {
    const [ctx, request] = [this.#ctx as never, { params, query: {}, body, accept: '', headers: {} } as never]
    const prepared = await endpoint.prepare?.(ctx, request)
    await endpoint.handle(ctx, request, prepared as never)
  }

  /** Keeps a refusal for the next round, or for the answer. */
  async #try(section: SectionName, at: string, work: () => Promise<void>): Promise<void> {
    await this.#pace()
    if (this.#tried?.has(at) === false) return
    try {
      await work()
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const { code, message, details } = error
      const { errors = [{ field: '', code, message }], data } = details
      const problems = errors.map((one) => ({ ...one, field: one.field === '' ? at : `${at}.${one.field}` }))
      this.#failures.set(at, { section, code, problems, data })
    }
  }

  /** Refuses with all problems of the first kind: records that refer to them may fail only for that reason. */
  #refuse(): void {
    const failures = [...this.#failures.values()]
    const [first] = this.#wanted.kinds.sections.flatMap(
      (section) => failures.find((one) => one.section === section) ?? [],
    )
    if (first === undefined) return
    const errors = failures.filter(({ section }) => section === first.section).flatMap(({ problems }) => problems)
    throw new ApiError(first.code, `The document has ${problemsText(errors, PROBLEMS_TOLD)}`, {
      errors: errors.slice(0, ERRORS_MAX),
      ...(first.data === undefined ? {} : { data: first.data }),
    })
  }
}

/** Returns the fields with ids instead of names; refuses unknown names. */
function withIds({ sent }: RecordKind | SettingsKind, fields: Json, lookup: Lookup): Json {
  const found = mapReferences(sent, fields, lookup) as Json
  const errors = lookup.errors.splice(0)
  if (errors.length > 0) throw new ApiError('INVALID_BODY', 'names unknown or ambiguous records', { errors })
  return found
}

/** Refuses the record as a whole. */
function refuse(code: string, message: string): never {
  throw new ApiError('INVALID_BODY', message, { errors: [{ field: '', code, message }] })
}

/** Maximum number of errors in an answer; nobody reads more. */
const ERRORS_MAX = 200
const RENEWED = 'is renewed by an ACME order, so a document cannot contain it: leave it out'
