import type { ConfigView, SectionContents, SectionName, SectionRecords } from '../model/sections.ts'
import type { Accounts, AccountsReader, SessionData } from './account.ts'
import type { Applied, ApplyOptions } from './applying.ts'
import type { CertificateRead, CertificateUpload } from '../model/certificates.ts'
import type { MachineFacts } from '../model/machine-facts.ts'
import type { Lifecycle, LifecycleReading } from './lifecycle.ts'
import type { HistoryFigures, Layer4Figures, LiveFigures } from './figures.ts'
import type { RadiusProbe } from './radius.ts'
import type { Rendered } from './reply.ts'
import type { Sso, SsoReader } from './sso.ts'
import type { StickTables, StickTablesReader } from './stick-tables.ts'

/** Who calls, as established by the token and looked up in running. */
export interface Actor {
  readonly userId: string
  readonly email: string
  readonly sessionId: string
}

export interface SectionReader<N extends SectionName> {
  /** The record in the candidate; refuses with NOT_FOUND. Remembers its revision for the ETag. */
  get(id: string): SectionRecords[N]
  find(id: string): SectionRecords[N] | undefined
  /** Like `get` for a record that need not be there; If-Match never fits one that is not. */
  settings(id: string): SectionRecords[N] | undefined
  /** All records of the candidate, ordered by id. */
  list(): readonly SectionRecords[N][]
}

/**
 * Edits of one request. They are checked at once (schema of the record, unique name, references, If-Match) and become
 * one atomic, durable write when the handler returns; a refusal leaves nothing behind.
 */
export interface SectionEditor<N extends SectionName> extends SectionReader<N> {
  create(record: SectionRecords[N]): void
  /** Creates the record, or replaces the whole of it. */
  put(record: SectionRecords[N]): void
  /** Undefined values in `patch` keep what is stored. */
  merge(id: string, patch: { readonly [K in keyof SectionRecords[N]]?: SectionRecords[N][K] | undefined }): void
  /** Refuses with IN_USE when another record needs this one. */
  refuseInUse(id: string): void
  remove(id: string): void
}

/** Console access as it is to be. */
export interface ConsoleChange {
  /** Whether the account can log in; undefined leaves it. */
  readonly shell: boolean | undefined
  /** `random` is known to nobody; undefined leaves it. */
  readonly password: { readonly secret: string } | 'random' | undefined
}

/** What a change does to one record. */
export interface ShownChange {
  readonly op: 'create' | 'update' | 'delete'
  readonly resource: string
  readonly resourceId: string
  readonly name: string
  /** The record, or for an update its changed fields only; secrets read `**`. */
  readonly before: Readonly<Record<string, unknown>> | null
  readonly after: Readonly<Record<string, unknown>> | null
}

/** One pending change as `GET /services/pending` shows it. */
export interface PendingChange extends ShownChange {
  readonly id: string
  readonly by: string
  readonly at: string
  readonly effect: string
  readonly services: readonly string[]
}

export interface FilePreview {
  readonly path: string
  /** Unified diff against the file of the running configuration. */
  readonly diff: string
}

export interface Pending {
  readonly revision: number
  readonly changes: readonly PendingChange[]
}
export interface PlanPreview extends Pending {
  readonly files: readonly FilePreview[]
  readonly steps: readonly { readonly kind: string; readonly why: string }[]
}

export interface PendingReader {
  list(): Promise<Pending>
  /** Ids of records of one section that differ between candidate and running. */
  changedIds(section: SectionName): readonly string[]
  preview(): Promise<PlanPreview>
  /** Checks the candidate with every driver and the program's own checker. Refuses with CONFIG_INVALID. */
  validate(): Promise<Pending>
}

/** An open editing session. */
export interface TransactionEntry {
  readonly id: string
  /** E-mail of who opened it. */
  readonly owner: string
  /** ISO 8601. */
  readonly openedAt: string
  /** ISO 8601; each use of it moves this. */
  readonly expiresAt: string
  /** Records edited in it. */
  readonly count: number
}

export interface UnitEntry {
  readonly name: string
  readonly fullName: string
  readonly canReload: boolean
  readonly canUpdate: boolean
}

/** One endpoint as roles see it. */
export interface CatalogEntry {
  readonly id: string
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly summary: string
}
export interface Catalog {
  list(): readonly CatalogEntry[]
  /** Ids of the endpoints that a role grants; a default role follows the table. */
  grantedBy(role: SectionRecords['roles']): ReadonlySet<string>
}

interface Common {
  readonly actor: Actor
  readonly requestId: string
  /** Address of the client. */
  readonly address: string
  readonly nodeId: string
  readonly version: string
  readonly running: ConfigView
  readonly catalog: Catalog
  readonly pending: PendingReader
  readonly units: { list(): readonly UnitEntry[] }
  readonly live: LiveFigures
  readonly history: HistoryFigures
  readonly layer4: Layer4Figures
  /** Documents about the API itself. */
  readonly documents: {
    openapi(): Rendered
    /** A file of the documentation page; refuses with NOT_FOUND. */
    page(file: string): Rendered
  }
  readonly session: { refresh(): string }
  readonly accounts: AccountsReader
  readonly sso: SsoReader
  readonly transactions: {
    list(): readonly TransactionEntry[]
    /** Refuses with TRANSACTION_OPEN while one is open. */
    refuseOpen(): void
  }
  /** Where this API is reached now. */
  readonly api: { readonly port: number }
  readonly stickTables: StickTablesReader
  readonly lifecycle: LifecycleReading
  /** What the machine says of itself now. */
  readonly machine: MachineFacts
  /** Reads, checks and orders a certificate that was handed in; what is wrong with it is a value. */
  readCertificate(sent: Omit<CertificateUpload, 'now_ms'>): Promise<CertificateRead>
  /** Whether a role of the caller grants the endpoint with this name. */
  may(endpoint: string): boolean
}
interface Reading {
  section<N extends SectionName>(name: N): SectionReader<N>
}
interface Staging {
  section<N extends SectionName>(name: N): SectionEditor<N>
  readonly passwords: { hash(password: string): Promise<string> }
  /** Makes whole sections hold exactly these records; refuses what would leave the candidate broken. */
  restore(contents: SectionContents): Promise<void>
  /** Starts the job that checks the candidate with what this request restores of a file. Answers its id. */
  checkRestored(file: string, warnings: readonly string[]): Promise<string>
  /** Starts the job that waits until a drained real server has no connections. Answers its id. */
  finishDrain(drain: { readonly ripId: string; readonly wait_s: number; readonly halt: boolean }): Promise<string>
  /** Takes pending changes back, and answers how many; refuses who could not have made them. Those of access go together. */
  discard(which: 'all' | 'mine' | { readonly id: string }): number
}
interface Acting {
  readonly stickTables: StickTables
  readonly lifecycle: Lifecycle
  readonly login: {
    withPassword(credentials: {
      readonly email: string
      readonly password: string
      readonly code?: string | undefined
    }): Promise<SessionData>
  }
  readonly accounts: Accounts
  readonly sso: Sso
  /** Operates one managed program; refuses with NOT_FOUND, NOT_SUPPORTED or CONFIG_INVALID. Answers true for a dry run. */
  operate(service: string, verb: 'reload' | 'restart' | 'update'): Promise<{ readonly isDryRun: boolean }>
  /** Sets the clock to this wall time of the node's zone, YYYY-MM-DD HH:MM:SS. Answers true for a dry run. */
  setClock(wallTime: string): Promise<{ readonly isDryRun: boolean }>
  readonly demo: { remove(): Promise<void> }
  readonly radius: RadiusProbe
  /** At once, and not to be undone. Answers true for a dry run. */
  setConsole(change: ConsoleChange): Promise<{ readonly isDryRun: boolean }>
  readonly transaction: {
    begin(): Promise<TransactionEntry>
    commit(id: string): Promise<void>
    rollback(id: string): Promise<void>
  }
}
interface Applying {
  apply(options: ApplyOptions): Promise<Applied>
  /** Keeps the last apply; refuses with NOT_FOUND when none waits for it. */
  confirm(): Promise<{ readonly revision: number }>
}

/** What a handler is given, by the effect its endpoint declares: a wrong side effect does not compile. */
export interface ContextOf {
  read: Common & Reading
  stage: Common & Staging
  act: Common & Reading & Acting
  'stage-and-act': Common & Staging & Acting
  apply: Common & Reading & Applying
}
export type Effect = keyof ContextOf
