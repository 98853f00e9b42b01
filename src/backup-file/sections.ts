import type { SectionName } from '../model/sections.ts'

/** `data` of one section of a backup file: lists of records by the name of their configuration section. */
export type SectionData = Readonly<Record<string, unknown>>

/** Converts data of one version to the next. Its input may be anything: it throws if that is unreadable. */
export type Migration = (data: SectionData) => SectionData

/** One section of a backup file. */
export interface BackupSection {
  readonly name: string
  /** For display. */
  readonly nameFull: string
  /** Incremented, with a migration, whenever records of older files would no longer match their schemas. */
  readonly version: number
  /** Whether it can be restored on its own. */
  readonly partRestore: boolean
  /** The sections of the configuration that it contains. */
  readonly config: readonly SectionName[]
  /** Other data of the section, for display: written and never restored. */
  readonly beside: readonly string[]
  /** For a section that was added later: a file in which the named section is older does not have it. */
  readonly cameWith?: { readonly name: string; readonly version: number }
  /** Migrations by the version that each starts from; 0 is a file from before this section existed. */
  readonly migrations: Readonly<Record<number, Migration>>
}

const section = (
  name: string,
  nameFull: string,
  config: readonly SectionName[] = [],
  more: Partial<BackupSection> = {},
): BackupSection => ({ name, nameFull, version: 1, partRestore: true, config, beside: [], migrations: {}, ...more })

/** Migrates to a version with more lists, which are empty in older files. */
const withEmpty =
  (...added: readonly SectionName[]): Migration =>
  (data) => ({ ...Object.fromEntries(added.map((name) => [name, []])), ...data })

const WHOLE_ONLY = { partRestore: false } as const

/** The sections of a backup file, in the order of their list. Every section of the configuration is in one of them. */
export const BACKUP_SECTIONS: readonly BackupSection[] = [
  section(
    'rbac',
    'Users, groups, roles and login methods',
    ['users', 'groups', 'roles', 'radiusConfigs', 'radiusUsers', 'samlConfigs', 'oidcConfigs', 'loginPolicies'],
    {
      version: 3,
      migrations: {
        1: withEmpty('radiusConfigs', 'radiusUsers', 'samlConfigs', 'loginPolicies'),
        2: withEmpty('oidcConfigs'),
      },
    },
  ),
  section('gslb', 'Global server load balancing'),
  section('certs', 'Certificates', ['certificates', 'cipherLists', 'acmeAccounts', 'acmeOrders'], {
    version: 3,
    migrations: { 1: withEmpty('certificates', 'cipherLists'), 2: withEmpty('acmeAccounts', 'acmeOrders') },
  }),
  section('layer7proxy', 'Layer 7 frontends and backends', ['l7Frontends', 'l7Backends', 'l7Raw', 'syslogServers'], {
    version: 3,
    migrations: { 1: withEmpty('l7Raw'), 2: withEmpty('syslogServers') },
  }),
  section('fallbackServer', 'Fallback server'),
  section('clusterha', 'Nodes of the cluster', ['nodeIdentities'], WHOLE_ONLY),
  section('fip', 'Floating IPs', ['floatingIps']),
  section('healthchecks', 'Health check scripts', ['healthChecks'], {
    version: 2,
    migrations: { 1: withEmpty('healthChecks') },
  }),
  section(
    'system',
    'Network and settings of the nodes',
    [
      'ipGroups',
      'staticIps',
      'ipRoutes',
      'conntrackLimits',
      'conntrackTimeouts',
      'systemProxies',
      'userInterfaces',
      'clocks',
      'snmpSettings',
      'snmpUsers',
    ],
    // Files with an older version of it have no section for alerts.
    { ...WHOLE_ONLY, version: 3, migrations: { 1: withEmpty('snmpSettings', 'snmpUsers'), 2: (data) => data } },
  ),
  section('licence', 'Licence', [], { ...WHOLE_ONLY, beside: ['licence'] }),
  // Both layers use them, so they belong to neither.
  section('realServers', 'Real servers', ['realServers']),
  // The first files did not have it.
  section('ipvsDirector', 'Layer 4 frontends and backends', ['l4Frontends', 'l4Backends'], {
    cameWith: { name: 'healthchecks', version: 2 },
    migrations: { 0: withEmpty('l4Frontends', 'l4Backends') },
  }),
  section('alerts', 'Alert rules and targets', ['alertRules', 'alertTargets'], {
    cameWith: { name: 'system', version: 3 },
    migrations: { 0: withEmpty('alertRules', 'alertTargets') },
  }),
]

export const backupSectionOf = (config: SectionName): string | undefined =>
  BACKUP_SECTIONS.find((one) => one.config.includes(config))?.name
