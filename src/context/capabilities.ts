import type { MachineFacts } from '../model/machine-facts.ts'
import type { AccessLogsReader } from './access-logs.ts'
import type { Accounts, AccountsReader, Hashing, LoginActor, SessionsReader } from './accounts.ts'
import type { AcmeActor, AcmeReader } from './acme.ts'
import type { AlertsActor, AlertsReader } from './alerts.ts'
import type { AddressesActor, AddressesReader } from './addresses.ts'
import type { ApplyActor, ApplyReader } from './applying.ts'
import type { AuditReader } from './audit.ts'
import type { BackupsActor, BackupsReader, RestoreChecks } from './backups.ts'
import type { ApiDocuments, Catalog } from './catalog.ts'
import type { CertificatesReader } from './certificates.ts'
import type { ClusterActor, ClusterReader, MaintenanceActor, PairActor } from './cluster.ts'
import type { EventsReader } from './events.ts'
import type { FigureStreamsReader } from './figure-streams.ts'
import type { HealthReader, HistoryFigures, Layer4Figures, LiveFigures } from './figures.ts'
import type { InterfacesReader } from './interfaces.ts'
import type { Drains, JobsActor, JobsReader } from './jobs.ts'
import type {
  ClockActor,
  ConsoleActor,
  PowerActor,
  RollingActor,
  SnapshotsActor,
  SnapshotsReader,
  UpdatesActor,
  UpdatesReader,
} from './machine-care.ts'
import type { MetricsReader } from './metrics.ts'
import type { NodeFactsReader } from './node-facts.ts'
import type { OverviewReader } from './overview.ts'
import type { PlansActor, PlansReader } from './plans.ts'
import type { RadiusProbe } from './radius.ts'
import type { RevisionsReader } from './revisions.ts'
import type { Oidc, OidcReader, Sso, SsoReader } from './sso.ts'
import type { PendingReader, TransactionsActor, TransactionsReader } from './staging.ts'
import type { StickTables, StickTablesReader } from './stick-tables.ts'
import type { UnitsActor, UnitsReader } from './units.ts'

/**
 * The capabilities that handlers may use, each with its faces: every handler sees `read`, and the others if its effect
 * allows them.
 */
export interface Capabilities {
  readonly acme: { read: AcmeReader; act: AcmeActor }
  readonly accessLogs: { read: AccessLogsReader }
  readonly alerts: { read: AlertsReader; act: AlertsActor }
  readonly addresses: { read: AddressesReader; act: AddressesActor }
  readonly accounts: { read: AccountsReader; act: Accounts }
  readonly applying: { read: ApplyReader; apply: ApplyActor }
  readonly audit: { read: AuditReader }
  readonly backups: { read: BackupsReader; act: BackupsActor }
  readonly catalog: { read: Catalog }
  readonly certificates: { read: CertificatesReader }
  readonly clock: { act: ClockActor }
  readonly cluster: { read: ClusterReader; act: ClusterActor }
  readonly console: { act: ConsoleActor }
  readonly demo: { act: { remove(by: string): Promise<void> } }
  readonly documents: { read: ApiDocuments }
  readonly drains: { stage: Drains }
  readonly events: { read: EventsReader }
  readonly figureStreams: { read: FigureStreamsReader }
  readonly health: { read: HealthReader }
  readonly history: { read: HistoryFigures }
  readonly interfaces: { stage: InterfacesReader }
  readonly jobs: { read: JobsReader; act: JobsActor }
  readonly layer4: { read: Layer4Figures }
  readonly live: { read: LiveFigures }
  readonly login: { act: LoginActor }
  /** Present readings of the machine. */
  readonly machine: { read: MachineFacts }
  readonly maintenance: { act: MaintenanceActor }
  readonly metrics: { read: MetricsReader }
  readonly nodeFacts: { read: NodeFactsReader }
  readonly oidc: { read: OidcReader; act: Oidc }
  readonly overview: { read: OverviewReader }
  readonly pair: { act: PairActor }
  readonly passwords: { stage: Hashing }
  readonly pending: { read: PendingReader }
  readonly plans: { read: PlansReader; apply: PlansActor }
  readonly power: { act: PowerActor }
  readonly radius: { act: RadiusProbe }
  readonly restoreChecks: { stage: RestoreChecks }
  readonly revisions: { read: RevisionsReader }
  /** Scripts that were placed on this machine, by name. */
  readonly scripts: {
    read: { find(name: string): Promise<{ readonly script: string } | { readonly problem: string }> }
  }
  readonly sessions: { read: SessionsReader }
  readonly snapshots: { read: SnapshotsReader; act: SnapshotsActor }
  readonly sso: { read: SsoReader; act: Sso }
  readonly stickTables: { read: StickTablesReader; act: StickTables }
  readonly transactions: { read: TransactionsReader; act: TransactionsActor }
  readonly rolling: { act: RollingActor }
  readonly units: { read: UnitsReader; act: UnitsActor }
  readonly updates: { read: UpdatesReader; act: UpdatesActor }
}

type Face = 'read' | 'stage' | 'act' | 'apply'

/** The capabilities that have this face, reduced to it. */
export type Seen<F extends Face> = {
  readonly [
    Name in keyof Capabilities as Capabilities[Name] extends Record<F, unknown> ? Name : never
  ]: Capabilities[Name] extends Record<F, infer Shown> ? Shown : never
}

/** The capabilities with all of their faces, as they are made. */
export type Whole = Seen<'read'> & Seen<'stage'> & Seen<'act'> & Seen<'apply'>
