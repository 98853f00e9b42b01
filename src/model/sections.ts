import type { TObject } from 'typebox'
import { isForwarded } from './access-log.ts'
import { Group, Role, User } from './access.ts'
import { AcmeAccount, AcmeOrder } from './acme.ts'
import { AlertRule, AlertTarget } from './alerts.ts'
import { Certificate, CipherList } from './certificates.ts'
import { HealthCheck } from './health-check.ts'
import { L4Backend, L4Frontend } from './layer4.ts'
import { L7Raw } from './l7-raw.ts'
import { L7_BACKEND_UNSET, L7_FRONTEND_UNSET, L7Backend, L7Frontend } from './layer7.ts'
import { FloatingIp, IpGroup, IpRoute, StaticIp } from './network.ts'
import {
  ClockSettings,
  ConntrackLimit,
  ConntrackTimeouts,
  NodeIdentity,
  SHARED,
  SystemProxy,
  UserInterface,
} from './node.ts'
import { RealServer } from './real-server.ts'
import { maybe, named, ofBackend, type Reference } from './references.ts'
import { LoginPolicy, OidcConfig, RadiusConfig, RadiusUser, SamlConfig } from './sign-in.ts'
import { SnmpSettings, SnmpUser } from './snmp.ts'
import { SyslogServer } from './syslog-server.ts'

import type { SectionName, SectionRecords } from './section-records.ts'

export type { Reference } from './references.ts'
export type {
  ConfigView,
  RecordChange,
  SectionContents,
  SectionName,
  SectionRecords,
  Touched,
} from './section-records.ts'

/** The rules of one section. */
export interface SectionRules<N extends SectionName> {
  /** The name for one record in messages: "real server". */
  readonly label: string
  readonly schema: TObject
  /** Field with the name of the record, which is unique (compared without regard to case). */
  readonly nameField: keyof SectionRecords[N] & string
  /** Fields never shown, not even in a diff. */
  readonly secrets: readonly (keyof SectionRecords[N] & string)[]
  /** Sections whose records are shown as part of one record's answer. */
  readonly shownWith: readonly SectionName[]
  readonly references: (record: SectionRecords[N]) => readonly Reference[]
  /** The meaning of a record without fields that were added later. */
  readonly unset?: Partial<SectionRecords[N]>
  /** Addresses of this appliance that the record listens on: a static IP among them cannot be deleted. */
  readonly addresses?: (record: SectionRecords[N]) => readonly { readonly field: string; readonly ip: string }[]
}

/** One record for each node, named by the node's id, or one for the cluster. */
const ofNode = (label: string, schema: TObject) =>
  ({ label, schema, nameField: 'id', secrets: [], shownWith: [], references: () => [] }) as const

/** The whole configuration in one screen. */
export const SECTIONS: { readonly [N in SectionName]: SectionRules<N> } = {
  users: {
    label: 'user',
    schema: User,
    nameField: 'email',
    secrets: ['passwordHash', 'secondFactor'],
    shownWith: [],
    references: (user) => [...named('groups', 'groups', user.groups), ...named('roles', 'roles', user.roles)],
  },
  groups: {
    label: 'group',
    schema: Group,
    nameField: 'name',
    secrets: [],
    shownWith: ['users'],
    references: (group) => named('roles', 'roles', group.roles),
  },
  roles: {
    label: 'role',
    schema: Role,
    nameField: 'name',
    secrets: [],
    shownWith: ['users', 'groups'],
    references: () => [],
  },
  realServers: {
    label: 'real server',
    schema: RealServer,
    nameField: 'name',
    secrets: [],
    shownWith: [],
    references: () => [],
  },
  healthChecks: {
    label: 'health check',
    schema: HealthCheck,
    nameField: 'name',
    secrets: [],
    shownWith: [],
    references: () => [],
  },
  l4Frontends: {
    label: 'Layer 4 frontend',
    schema: L4Frontend,
    nameField: 'name',
    secrets: [],
    shownWith: [],
    references: ({ backendId }) => [{ field: 'backendId', section: 'l4Backends', id: backendId }],
    addresses: (frontend) => [{ field: 'ip', ip: frontend.ip }],
  },
  l4Backends: {
    label: 'Layer 4 backend',
    schema: L4Backend,
    nameField: 'name',
    secrets: [],
    shownWith: [],
    references: ofBackend,
  },
  l7Frontends: {
    label: 'Layer 7 frontend',
    schema: L7Frontend,
    nameField: 'name',
    secrets: [],
    shownWith: [],
    references: ({ defaultBackendId, cipherListId, certificates, logs, rules = [] }) => [
      ...maybe('defaultBackendId', 'l7Backends', defaultBackendId),
      ...rules.flatMap((rule, at) => maybe(`rules.${at}.do.backendId`, 'l7Backends', rule.do.backendId)),
      ...maybe('cipherListId', 'cipherLists', cipherListId),
      ...named('certificates', 'certificates', certificates ?? []),
      ...maybe('logs.target', 'syslogServers', isForwarded(logs) ? SHARED : null),
    ],
    unset: L7_FRONTEND_UNSET,
    addresses: (frontend) => [{ field: 'ip', ip: frontend.ip }],
  },
  l7Backends: {
    label: 'Layer 7 backend',
    schema: L7Backend,
    nameField: 'name',
    secrets: [],
    shownWith: [],
    references: ofBackend,
    unset: L7_BACKEND_UNSET,
  },
  l7Raw: {
    ...ofNode('raw lines', L7Raw),
    references: ({ frontends, backends }) => [
      ...frontends.map(({ id }, at) => ({ field: `frontends.${at}.id`, section: 'l7Frontends', id }) as const),
      ...backends.map(({ id }, at) => ({ field: `backends.${at}.id`, section: 'l7Backends', id }) as const),
    ],
  },
  syslogServers: {
    ...ofNode('syslog server', SyslogServer),
    references: ({ certificateId }) => maybe('certificateId', 'certificates', certificateId),
  },
  ipGroups: {
    label: 'IP group',
    schema: IpGroup,
    nameField: 'name',
    secrets: [],
    shownWith: [],
    references: () => [],
  },
  staticIps: {
    label: 'static IP',
    schema: StaticIp,
    nameField: 'ip',
    secrets: [],
    shownWith: [],
    references: (address) => [{ field: 'groupId', section: 'ipGroups', id: address.groupId }],
  },
  floatingIps: {
    label: 'floating IP',
    schema: FloatingIp,
    nameField: 'ip',
    secrets: [],
    shownWith: [],
    references: (address) => [{ field: 'groupId', section: 'ipGroups', id: address.groupId }],
  },
  ipRoutes: {
    label: 'route',
    schema: IpRoute,
    nameField: 'name',
    secrets: [],
    shownWith: [],
    references: () => [],
  },
  conntrackLimits: { ...ofNode('connection tracking size', ConntrackLimit), shownWith: ['conntrackTimeouts'] },
  conntrackTimeouts: ofNode('connection tracking timeouts', ConntrackTimeouts),
  systemProxies: { ...ofNode('system proxy', SystemProxy), secrets: ['password'] },
  userInterfaces: {
    ...ofNode('user interface', UserInterface),
    references: ({ ipId, SSLCertificate }) => [
      ...maybe('ipId', 'staticIps', ipId),
      ...maybe('SSLCertificate', 'certificates', SSLCertificate),
    ],
  },
  clocks: ofNode('clock', ClockSettings),
  nodeIdentities: { ...ofNode('node identity', NodeIdentity), nameField: 'nodeId' },
  certificates: {
    label: 'certificate',
    schema: Certificate,
    nameField: 'name',
    secrets: ['privateKey'],
    shownWith: ['l7Frontends', 'syslogServers', 'userInterfaces'],
    references: () => [],
  },
  cipherLists: {
    label: 'cipher list',
    schema: CipherList,
    nameField: 'name',
    secrets: [],
    shownWith: [],
    references: () => [],
  },
  acmeAccounts: {
    label: 'ACME account',
    schema: AcmeAccount,
    nameField: 'name',
    secrets: ['privateKey', 'externalAccountBinding'],
    shownWith: [],
    references: () => [],
  },
  acmeOrders: {
    label: 'ACME order',
    schema: AcmeOrder,
    nameField: 'name',
    secrets: ['progress', 'secrets'],
    shownWith: ['certificates'],
    references: ({ accountId, certificateId, dns }) => [
      { field: 'accountId', section: 'acmeAccounts', id: accountId },
      { field: 'certificateId', section: 'certificates', id: certificateId },
      ...(dns === undefined ? [] : [{ field: 'dns.scriptId', section: 'healthChecks', id: dns.scriptId } as const]),
    ],
  },
  snmpSettings: {
    ...ofNode('SNMP settings', SnmpSettings),
    secrets: ['community'],
    references: ({ serviceIpId }) =>
      maybe('serviceIpId', 'staticIps', serviceIpId).map((one) => ({ ...one, orSection: 'floatingIps' })),
  },
  snmpUsers: {
    label: 'SNMP user',
    schema: SnmpUser,
    nameField: 'username',
    secrets: ['authKey', 'privacyKey'],
    shownWith: [],
    // The keys are made for the engine in that record.
    references: () => [{ field: 'authKey', section: 'snmpSettings', id: SHARED }],
  },
  radiusConfigs: {
    ...ofNode('RADIUS configuration', RadiusConfig),
    secrets: ['sharedSecret', 'hosts'],
    references: ({ groupMappings }) =>
      groupMappings.map(({ groupId }, index) => ({
        field: `groupMappings.${index}.groupId`,
        section: 'groups',
        id: groupId,
      })),
  },
  radiusUsers: {
    label: 'RADIUS user',
    schema: RadiusUser,
    nameField: 'username',
    secrets: [],
    shownWith: [],
    // No references to groups: an administrator of groups need not know about users that log in through RADIUS.
    references: () => [],
  },
  samlConfigs: {
    ...ofNode('SAML configuration', SamlConfig),
    references: ({ breakGlassUserId }) => maybe('breakGlassUserId', 'users', breakGlassUserId),
  },
  oidcConfigs: {
    ...ofNode('OIDC configuration', OidcConfig),
    secrets: ['clientSecret'],
    references: ({ breakGlassUserId, groupMappings = [] }) => [
      ...maybe('breakGlassUserId', 'users', breakGlassUserId),
      ...groupMappings.flatMap(({ roles }, index) => named(`groupMappings.${index}.roles`, 'roles', roles)),
    ],
  },
  loginPolicies: ofNode('login policy', LoginPolicy),
  alertTargets: {
    label: 'alert target',
    schema: AlertTarget,
    nameField: 'name',
    secrets: ['url', 'headers', 'password', 'secret', 'community', 'authPassphrase', 'privacyPassphrase'],
    shownWith: [],
    references: ({ certificateId }) => maybe('certificateId', 'certificates', certificateId),
  },
  alertRules: {
    label: 'alert rule',
    schema: AlertRule,
    nameField: 'name',
    secrets: [],
    shownWith: [],
    references: ({ targets }) => named('targets', 'alertTargets', targets),
  },
}

export const SECTION_NAMES = Object.keys(SECTIONS) as readonly SectionName[]
