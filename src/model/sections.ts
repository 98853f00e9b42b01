import type { TObject } from 'typebox'
import { Group, Role, User } from './access.ts'
import { L7Backend, L7Frontend } from './layer7.ts'
import { FloatingIp, IpGroup, IpRoute, StaticIp } from './network.ts'
import { ClockSettings, ConntrackLimit, ConntrackTimeouts, NodeIdentity, SystemProxy, UserInterface } from './node.ts'
import { RealServer } from './real-server.ts'

/** The record of each section of the configuration. */
export interface SectionRecords {
  readonly users: User
  readonly groups: Group
  readonly roles: Role
  readonly realServers: RealServer
  readonly l7Frontends: L7Frontend
  readonly l7Backends: L7Backend
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
}
export type SectionName = keyof SectionRecords

/** Whole sections: each holds exactly these records. */
export type SectionContents = { readonly [N in SectionName]?: readonly SectionRecords[N][] }

/** One place where a record names another: `field` is a dotted path in the record. */
export interface Reference {
  readonly field: string
  readonly section: SectionName
  readonly id: string
}

/** The rules of one section. */
export interface SectionRules<N extends SectionName> {
  /** What people call one record, for messages: "real server". */
  readonly label: string
  readonly schema: TObject
  /** Field that names the record to people and is unique (compared without regard to case). */
  readonly nameField: keyof SectionRecords[N] & string
  /** Fields never shown, not even in a diff. */
  readonly secrets: readonly (keyof SectionRecords[N] & string)[]
  /** Sections whose records are part of what an answer about one record shows. */
  readonly shownWith: readonly SectionName[]
  readonly references: (record: SectionRecords[N]) => readonly Reference[]
  /** Addresses of this appliance that the record listens on: a static IP among them cannot be deleted. */
  readonly addresses?: (record: SectionRecords[N]) => readonly { readonly field: string; readonly ip: string }[]
}

const named = (field: string, section: SectionName, ids: readonly string[]): Reference[] =>
  ids.map((id, index) => ({ field: `${field}.${index}`, section, id }))

/** One record for each node, named by the node's id. */
const ofNode = (label: string, schema: TObject) =>
  ({ label, schema, nameField: 'id', secrets: [], shownWith: [], references: () => [] }) as const

/** The whole configuration in one screen. */
export const SECTIONS: { readonly [N in SectionName]: SectionRules<N> } = {
  users: {
    label: 'user',
    schema: User,
    nameField: 'email',
    secrets: ['passwordHash'],
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
  l7Frontends: {
    label: 'Layer 7 frontend',
    schema: L7Frontend,
    nameField: 'name',
    secrets: [],
    shownWith: [],
    references: (frontend) =>
      frontend.defaultBackendId === null
        ? []
        : [{ field: 'defaultBackendId', section: 'l7Backends', id: frontend.defaultBackendId }],
    addresses: (frontend) => [{ field: 'ip', ip: frontend.ip }],
  },
  l7Backends: {
    label: 'Layer 7 backend',
    schema: L7Backend,
    nameField: 'name',
    secrets: [],
    shownWith: [],
    references: (backend) =>
      backend.reals.map((real, index) => ({ field: `reals.${index}.ripId`, section: 'realServers', id: real.ripId })),
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
    references: (settings) =>
      settings.ipId === '' ? [] : [{ field: 'ipId', section: 'staticIps', id: settings.ipId }],
  },
  clocks: ofNode('clock', ClockSettings),
  nodeIdentities: { ...ofNode('node identity', NodeIdentity), nameField: 'nodeId' },
}

export const SECTION_NAMES = Object.keys(SECTIONS) as readonly SectionName[]

/** A whole configuration, read only: the candidate or running. */
export interface ConfigView {
  get<N extends SectionName>(section: N, id: string): SectionRecords[N] | undefined
  list<N extends SectionName>(section: N): Iterable<SectionRecords[N]>
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
