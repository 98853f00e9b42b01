import type { ConfigStore } from '../../storage/config/config-store.ts'
import type { Actor, CameIn, SessionData } from '../context/actor.ts'
import type { WentLive } from '../context/applying.ts'
import type { Effect } from '../context/context.ts'
import type { RevisionChanges } from '../context/revisions.ts'
import type { SectionEditor } from '../context/sections.ts'
import type { Edits, TakenBack } from '../context/staging.ts'
import type { Clock } from '../base/clock.ts'
import type { RecordChange, SectionContents, SectionName, Touched } from '../model/sections.ts'
import { confinable, isOwned } from '../model/confined.ts'
import type { Area } from '../rules/confined.ts'
import { changedInside, seenInside } from './confined.ts'
import { Draft } from './draft.ts'
import { type Editing, originOf } from './editing.ts'
import { judgedEdits, takenBackBy } from './made.ts'
import { type May, refuseForeign } from './needed-rights.ts'
import { refuseOverRights } from './over-rights.ts'
import { reverse } from './reverse.ts'
import type { Joined, Transactions } from './transactions.ts'
import { replacements } from './whole.ts'

export interface WorkParts {
  readonly store: ConfigStore
  readonly editing: Editing
  readonly transactions: Transactions
  readonly clock: Clock
  readonly access: {
    may(actor: Actor, endpoint: string, touched?: Touched): boolean
    areaOf(actor: Actor, endpoint: string): Area | undefined
    isConfined(actor: Actor): boolean
  }
  /** Set if the daemon only observes: refuses to edit sections that it does not manage. */
  readonly observed: { refuseEdit(section: SectionName): void } | undefined
}

/** The properties of an endpoint that its edits depend on. */
export interface Purpose {
  readonly name: string
  readonly effect: Effect
  readonly outsideTransactions: boolean
}

/** The edits of one request, and what the audit log reports about it. */
export class UnitOfWork implements Edits {
  readonly #parts: WorkParts
  readonly #endpoint: Purpose
  readonly #actor: Actor
  readonly #ifMatch: string | undefined
  /** The transaction that the request names, if any. */
  readonly #transactionId: string | undefined
  readonly #askAgain: (() => void) | undefined
  #draft: Draft | undefined
  #afterwards: (() => Promise<void>) | undefined
  changes: readonly RecordChange[] = []
  cameIn: CameIn | undefined
  wentLive: WentLive | undefined

  /** `askAgain` refuses callers that lost the right while the edit waited for its turn. */
  constructor(
    parts: WorkParts,
    endpoint: Purpose,
    actor: Actor,
    ifMatch: string | undefined,
    transactionId: string | undefined,
    askAgain: (() => void) | undefined,
  ) {
    this.#parts = parts
    this.#endpoint = endpoint
    this.#actor = actor
    this.#ifMatch = ifMatch
    this.#transactionId = transactionId
    this.#askAgain = askAgain
    if (transactionId === undefined) return
    if (endpoint.outsideTransactions) parts.transactions.refuseInside(transactionId)
    else parts.transactions.refuseUnknown(transactionId)
  }

  /** Runs the handler; for staging effects inside one atomic edit. */
  run(handler: () => unknown): unknown {
    const { effect } = this.#endpoint
    if (effect !== 'stage' && effect !== 'stage-and-act') return handler()
    const work = async (draft: Draft): Promise<unknown> => {
      this.#draft = draft
      this.#afterwards = undefined
      this.#askAgain?.()
      const result = await handler()
      this.#refuseOutside(draft)
      // Before the edits are written, while the values before them are still visible.
      this.changes = [...draft.made, ...takenBackBy(this.#parts.store, draft.discarded)]
      return result
    }
    const { editing } = this.#parts
    return editing.edit(this.#origin, this.#ifMatch, work, { join: this.#join, afterwards: () => this.#afterwards?.() })
  }

  /** The ETag of the record that was read. */
  get tagRead(): string | undefined {
    return this.#draft?.tagRead
  }

  section<N extends SectionName>(name: N): SectionEditor<N> {
    if (this.#endpoint.effect !== 'read') this.#parts.observed?.refuseEdit(name)
    const editor = this.#edits.section(name)
    const endpoint = this.#endpoint.name
    // An area does not restrict what an endpoint reads of other kinds, such as whether a name exists.
    if (!isOwned(name) || confinable(endpoint) !== name) return editor
    const area = this.#parts.access.areaOf(this.#actor, endpoint)
    if (area === undefined) return editor
    const confinement = { section: name, area, may: this.#may }
    return this.#endpoint.effect === 'read' ? seenInside(editor, confinement) : changedInside(editor, confinement)
  }

  /** Judges all edits of a caller whose right is confined, however the request makes them. */
  #refuseOutside(draft: Draft): void {
    if (!this.#parts.access.isConfined(this.#actor)) return
    const edits = judgedEdits(
      draft.made.filter(({ section }) => isOwned(section)),
      this.#origin,
    )
    refuseForeign(edits, this.#may, 'your roles grant it for some records only', () => draft.view)
  }

  async restore(contents: SectionContents): Promise<void> {
    const draft = this.#edits
    await draft.rewrite(replacements(draft.view, contents))
    refuseOverRights(draft.made, this.#may('roles.create'))
  }

  reverse(made: RevisionChanges): Promise<number> {
    return reverse(this.#parts.store, this.#edits, made, this.#origin, this.#may)
  }

  discard(which: 'all' | 'mine' | { readonly id: string }): TakenBack {
    return this.#edits.discard(which === 'mine' ? { by: this.#actor.email } : which, this.#may)
  }

  afterwards(act: () => Promise<void>): void {
    this.#afterwards = act
  }

  noteLogin({ user, via, ended }: SessionData): void {
    this.cameIn = { name: user.email, via, ended }
  }

  noteLive(live: WentLive | undefined): void {
    this.wentLive = live
  }

  get #edits(): Draft {
    this.#draft ??= new Draft(this.#parts.store, this.#ifMatch, this.#join?.().writes)
    return this.#draft
  }

  get #origin() {
    return originOf(this.#actor.email, this.#endpoint.name, this.#parts.clock)
  }

  get #join(): (() => Joined) | undefined {
    const [id, { transactions }] = [this.#transactionId, this.#parts]
    if (id === undefined) return undefined
    // A request about this machine that edits nothing is answered here: edits of a transaction are on no machine.
    const isEdit = this.#endpoint.effect.startsWith('stage')
    if (!isEdit && transactions.elsewhere?.id === id) return undefined
    return () => transactions.join(id, this.#actor)
  }

  get #may(): May {
    return (endpoint, touched) => this.#parts.access.may(this.#actor, endpoint, touched)
  }
}
