import type { ConfigStore } from '../storage/config/config-store.ts'
import type { Accounts } from './api/account.ts'
import type { Applied, ApplyOptions } from './api/applying.ts'
import type { Actor, Catalog, ConsoleChange, PendingReader, UnitEntry } from './api/context.ts'
import type { SessionData } from './api/account.ts'
import type { HistoryFigures, Layer4Figures, LiveFigures } from './api/figures.ts'
import type { Sso } from './api/sso.ts'
import type { StickTables } from './api/stick-tables.ts'
import type { RadiusProbe } from './api/radius.ts'
import type { RunningLifecycle } from './lifecycle.ts'
import type { CertificateRead, CertificateUpload } from './model/certificates.ts'
import type { MachineFacts } from './model/machine-facts.ts'
import type { Rendered } from './api/reply.ts'
import type { Credentials } from './auth/login.ts'
import type { Clock } from './clock.ts'
import type { Caller } from './config/apply-parts.ts'
import type { Editing } from './config/editing.ts'
import type { Transactions } from './config/transactions.ts'
import type { ConfigView } from './model/sections.ts'
import type { ObservedHaproxy } from './observe/observed-haproxy.ts'

/** What the composition root puts together; handlers see parts of it through their context. */
export interface Services {
  readonly nodeId: string
  readonly version: string
  readonly clock: Clock
  readonly store: ConfigStore
  readonly running: ConfigView
  readonly editing: Editing
  readonly catalog: Catalog
  readonly pending: PendingReader
  readonly units: {
    list(): readonly UnitEntry[]
    operate(service: string, verb: 'reload' | 'restart' | 'update', by: string): Promise<{ readonly isDryRun: boolean }>
  }
  readonly live: LiveFigures
  readonly history: HistoryFigures
  readonly layer4: Layer4Figures
  /** The HAProxy that is only watched, when this daemon has none of its own. */
  readonly observed: ObservedHaproxy | undefined
  readonly documents: { openapi(): Rendered; page(file: string): Rendered }
  readonly passwords: { hash(password: string): Promise<string> }
  readonly sessions: { token(sessionId: string): string }
  readonly login: { login(credentials: Credentials, address: string): Promise<SessionData> }
  readonly sso: { of(address: () => string): Sso }
  readonly account: { of(actor: Actor, address: () => string): Accounts }
  setClock(wallTime: string): Promise<{ readonly isDryRun: boolean }>
  readonly demo: { remove(by: string): Promise<void> }
  readonly radius: RadiusProbe
  readonly stickTables: StickTables
  readonly machine: MachineFacts
  readonly lifecycle: RunningLifecycle
  readCertificate(upload: CertificateUpload): Promise<CertificateRead>
  may(actor: Actor, endpoint: string): boolean
  readonly api: { readonly port: number }
  readonly transactions: Transactions
  setConsole(change: ConsoleChange): Promise<{ readonly isDryRun: boolean }>
  apply(options: ApplyOptions, caller: Caller): Promise<Applied>
  confirm(caller: Pick<Caller, 'may'>): Promise<{ readonly revision: number }>
}
