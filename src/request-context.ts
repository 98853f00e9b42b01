import type { Accounts } from './api/account.ts'
import type { Applied, ApplyOptions } from './api/applying.ts'
import type { Actor, Catalog, ConsoleChange, PendingReader, SectionEditor } from './api/context.ts'
import type { SessionData } from './api/account.ts'
import type { Endpoint } from './api/endpoint.ts'
import type { HistoryFigures, Layer4Figures, LiveFigures } from './api/figures.ts'
import type { Lifecycle } from './api/lifecycle.ts'
import type { Sso } from './api/sso.ts'
import type { RadiusProbe } from './api/radius.ts'
import type { CertificateRead, CertificateUpload } from './model/certificates.ts'
import type { MachineFacts } from './model/machine-facts.ts'
import type { Credentials } from './auth/login.ts'
import { Draft } from './config/draft.ts'
import { takenBackBy } from './config/made.ts'
import { refuseOverRights } from './config/over-rights.ts'
import type { May } from './config/needed-rights.ts'
import type { Joined, Transactions } from './config/transactions.ts'
import type { CameIn } from './http/audited.ts'
import type { HandlerContext, RequestFacts } from './http/pipeline.ts'
import type { ConfigView, RecordChange, SectionContents, SectionName } from './model/sections.ts'
import type { Services } from './services.ts'

/** The one implementation of every context interface; the endpoint's effect decides what a handler can see of it. */
export class RequestContext implements HandlerContext {
  readonly actor: Actor
  readonly requestId: string
  readonly #client: RequestFacts['client']
  readonly #services: Services
  readonly #endpoint: Endpoint
  readonly #ifMatch: string | undefined
  readonly #transactionId: string | undefined
  #draft: Draft | undefined
  #changes: readonly RecordChange[] = []
  #cameIn: CameIn | undefined

  constructor(services: Services, endpoint: Endpoint, actor: Actor, facts: RequestFacts) {
    this.#services = services
    this.#endpoint = endpoint
    this.actor = actor
    this.requestId = facts.requestId
    this.#client = facts.client
    this.#ifMatch = facts.ifMatch
    this.#transactionId = facts.transactionId
  }

  run(handler: () => unknown): unknown {
    if (this.#endpoint.effect !== 'stage' && this.#endpoint.effect !== 'stage-and-act') return handler()
    const work = async (draft: Draft): Promise<unknown> => {
      this.#draft = draft
      const result = await handler()
      // Before they are written, while it can be seen what was there.
      this.#changes = [...draft.made, ...takenBackBy(this.#services.store, draft.discarded)]
      return result
    }
    return this.#services.editing.edit(this.#origin, this.#ifMatch, work, this.#join)
  }

  get changes(): readonly RecordChange[] {
    return this.#changes
  }

  enter(transactionId: string): void {
    const { transactions } = this.#services
    if (this.#endpoint.outsideTransactions) transactions.refuseInside(transactionId)
    else transactions.refuseUnknown(transactionId)
  }

  get #origin() {
    const at = new Date(this.#services.clock.now_ms()).toISOString()
    return { actor: this.actor.email, endpoint: this.#endpoint.name, at }
  }

  /** The transaction that the request names, if any. */
  get #join(): (() => Joined) | undefined {
    const id = this.#transactionId
    return id === undefined ? undefined : () => this.#services.transactions.join(id, this.actor)
  }

  // A getter: most requests ask for no rights again.
  get #may(): May {
    return (endpoint) => this.may(endpoint)
  }
  get revisionRead(): number | undefined {
    return this.#draft?.revisionRead
  }
  get address(): string {
    return this.#client.address
  }
  get nodeId(): string {
    return this.#services.nodeId
  }
  get version(): string {
    return this.#services.version
  }
  get running(): ConfigView {
    return this.#services.running
  }
  get catalog(): Catalog {
    return this.#services.catalog
  }
  get pending(): PendingReader {
    return this.#services.pending
  }
  get units(): Services['units'] {
    return this.#services.units
  }
  get live(): LiveFigures {
    return this.#services.live
  }
  get history(): HistoryFigures {
    return this.#services.history
  }
  get layer4(): Layer4Figures {
    return this.#services.layer4
  }
  get documents(): Services['documents'] {
    return this.#services.documents
  }
  get passwords(): Services['passwords'] {
    return this.#services.passwords
  }
  get lifecycle(): Lifecycle {
    return this.#services.lifecycle
  }
  get machine(): MachineFacts {
    return this.#services.machine
  }
  readCertificate(sent: Omit<CertificateUpload, 'now_ms'>): Promise<CertificateRead> {
    return this.#services.readCertificate({ ...sent, now_ms: this.#services.clock.now_ms() })
  }
  may(endpoint: string): boolean {
    return this.#services.may(this.actor, endpoint)
  }

  section<N extends SectionName>(name: N): SectionEditor<N> {
    if (this.#endpoint.effect !== 'read') this.#services.observed?.refuseEdit(name)
    this.#draft ??= new Draft(this.#services.store, undefined, this.#join?.().writes)
    return this.#draft.section(name)
  }

  async restore(contents: SectionContents): Promise<void> {
    this.#services.observed?.refuse()
    await this.#draft?.restore(contents)
    refuseOverRights(this.#draft?.made ?? [], this.may('roles.create'))
  }

  checkRestored(file: string, warnings: readonly string[]): Promise<string> {
    return this.#services.lifecycle.checkRestored({ file, warnings }, this.actor.email)
  }

  finishDrain(drain: { readonly ripId: string; readonly wait_s: number; readonly halt: boolean }): Promise<string> {
    return this.#services.lifecycle.finishDrain({ ...drain, by: this.actor.email, author: this.actor })
  }

  discard(which: 'all' | 'mine' | { readonly id: string }): number {
    return this.#draft?.discard(which === 'mine' ? { by: this.actor.email } : which, this.#may) ?? 0
  }

  // Getters, not fields: most requests use none of these.
  get session() {
    return { refresh: () => this.#services.sessions.token(this.actor.sessionId) }
  }
  get login() {
    return {
      withPassword: (credentials: Credentials) => this.#admitted(this.#services.login.login(credentials, this.address)),
    }
  }
  get sso(): Sso {
    const sso = this.#services.sso.of(() => this.address)
    return { ...sso, redeem: (code) => this.#admitted(sso.redeem(code)) }
  }

  /** For the audit log: a code does not say whose it is. */
  async #admitted(login: Promise<SessionData>): Promise<SessionData> {
    const session = await login
    this.#cameIn = { name: session.user.email, via: session.via, ended: session.ended }
    return session
  }
  get cameIn(): CameIn | undefined {
    return this.#cameIn
  }
  get accounts(): Accounts {
    return this.#services.account.of(this.actor, () => this.address)
  }

  operate(service: string, verb: 'reload' | 'restart' | 'update'): Promise<{ readonly isDryRun: boolean }> {
    return this.#services.units.operate(service, verb, this.actor.email)
  }

  get transactions(): Transactions {
    return this.#services.transactions
  }
  get api(): Services['api'] {
    return this.#services.api
  }
  get transaction() {
    const { transactions, editing } = this.#services
    return {
      begin: () => transactions.begin(this.actor),
      commit: (id: string) =>
        editing.commit(
          this.#origin,
          this.#may,
          () => transactions.join(id, this.actor),
          () => transactions.end(id),
        ),
      // Behind the edits and commits that are under way: none of them may bring back what was rolled back.
      rollback: (id: string) =>
        editing.between(async () => {
          transactions.refuseForeign(id, this.actor, this.#may)
          await transactions.end(id)
        }),
    }
  }

  async setConsole(change: ConsoleChange): Promise<{ readonly isDryRun: boolean }> {
    this.#services.observed?.refuse()
    return this.#services.setConsole(change)
  }

  async setClock(wallTime: string): Promise<{ readonly isDryRun: boolean }> {
    this.#services.observed?.refuse()
    return this.#services.setClock(wallTime)
  }
  get demo() {
    return { remove: () => this.#services.demo.remove(this.actor.email) }
  }
  get stickTables(): Services['stickTables'] {
    return this.#services.stickTables
  }

  get radius(): RadiusProbe {
    return this.#services.radius
  }

  async apply(options: ApplyOptions): Promise<Applied> {
    // Users and roles may change; a forced restart means HAProxy.
    if (options.force !== undefined) this.#services.observed?.refuse()
    return this.#services.apply(options, { by: this.actor.email, address: this.address, may: this.#may })
  }

  confirm(): Promise<{ readonly revision: number }> {
    return this.#services.confirm({ may: this.#may })
  }
}
