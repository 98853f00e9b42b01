import type { Group, Role, User } from './access.ts'
import type { AcmeAccount, AcmeOrder } from './acme.ts'
import type { AlertRule, AlertTarget } from './alerts.ts'
import type { Certificate, CipherList } from './certificates.ts'
import type { HealthCheck } from './health-check.ts'
import type { L4Backend, L4Frontend } from './layer4.ts'
import type { L7Raw } from './l7-raw.ts'
import type { L7Backend, L7Frontend } from './layer7.ts'
import type { FloatingIp, IpGroup, IpRoute, StaticIp } from './network.ts'
import type {
  ClockSettings,
  ConntrackLimit,
  ConntrackTimeouts,
  NodeIdentity,
  SystemProxy,
  UserInterface,
} from './node.ts'
import type { RealServer } from './real-server.ts'
import type { LoginPolicy, OidcConfig, RadiusConfig, RadiusUser, SamlConfig } from './sign-in.ts'
import type { SnmpSettings, SnmpUser } from './snmp.ts'
import type { SyslogServer } from './syslog-server.ts'

/** The type of the records of each section. */
export interface SectionRecords {
  readonly users: User
  readonly groups: Group
  readonly roles: Role
  readonly realServers: RealServer
  readonly healthChecks: HealthCheck
  readonly l4Frontends: L4Frontend
  readonly l4Backends: L4Backend
  readonly l7Frontends: L7Frontend
  readonly l7Backends: L7Backend
  readonly l7Raw: L7Raw
  readonly syslogServers: SyslogServer
  readonly ipGroups: IpGroup
  readonly staticIps: StaticIp
  readonly floatingIps: FloatingIp
  readonly ipRoutes: IpRoute
  readonly conntrackLimits: ConntrackLimit
  readonly conntrackTimeouts: ConntrackTimeouts
  readonly systemProxies: SystemProxy
  readonly userInterfaces: UserInterface
  readonly clocks: ClockSettings
  readonly nodeIdentities: NodeIdentity
  readonly certificates: Certificate
  readonly cipherLists: CipherList
  readonly acmeAccounts: AcmeAccount
  readonly acmeOrders: AcmeOrder
  readonly snmpSettings: SnmpSettings
  readonly snmpUsers: SnmpUser
  readonly radiusConfigs: RadiusConfig
  readonly radiusUsers: RadiusUser
  readonly samlConfigs: SamlConfig
  readonly oidcConfigs: OidcConfig
  readonly loginPolicies: LoginPolicy
  readonly alertTargets: AlertTarget
  readonly alertRules: AlertRule
}
export type SectionName = keyof SectionRecords

/** The contents of whole sections: each holds exactly these records. */
export type SectionContents = { readonly [N in SectionName]?: readonly SectionRecords[N][] }

/** A whole configuration, read only: the candidate or running. */
export interface ConfigView {
  get<N extends SectionName>(section: N, id: string): SectionRecords[N] | undefined
  list<N extends SectionName>(section: N): readonly SectionRecords[N][]
}

/** The difference of one record between running and a candidate. */
export type RecordChange = {
  readonly [N in SectionName]: {
    readonly section: N
    readonly id: string
    readonly before: SectionRecords[N] | undefined
    readonly after: SectionRecords[N] | undefined
  }
}[SectionName]

/** A record that is changed or read; undefined or null if there is none. */
export interface Touched {
  readonly section: string
  readonly before: unknown
  readonly after: unknown
}
