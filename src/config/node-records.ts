import { isDeepStrictEqual } from 'node:util'
import { validatorOf } from '../base/validator.ts'
import { canonicalIp, canonicalNetwork } from '../base/ip-network.ts'
import { ApiError } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { nameKey } from '../base/name-key.ts'
import type { Change, ConfigStore } from '../../storage/config/config-store.ts'
import { changesNothing } from '../../storage/config/mirror.ts'
import type { IpGroup, IpRoute } from '../model/network.ts'
import {
  type ConfigView,
  type SectionContents,
  type SectionName,
  type SectionRecords,
  SECTIONS,
} from '../model/sections.ts'
import { changeTo, CLUSTER, configView } from './views.ts'

/** The records that belong to one node alone, which it keeps when it joins others. */
export interface NodeRecords extends SectionContents {
  /** IP groups in which the node has addresses or interfaces, without other nodes' interfaces. */
  readonly ipGroups: readonly IpGroup[]
}

/** The limit of `Name`. */
const NAME_LENGTH_MAX = 128
/** Settings whose record has the id of the node. */
const SETTINGS = ['conntrackLimits', 'systemProxies', 'userInterfaces', 'clocks'] as const

export function nodeRecords(view: ConfigView, nodeId: string): NodeRecords {
  const ofNode = (record: { readonly nodeId: string }) => record.nodeId === nodeId
  const staticIps = [...view.list('staticIps')].filter(ofNode)
  const settings = SETTINGS.map((name) => [name, [view.get(name, nodeId)].filter((one) => one !== undefined)] as const)
  const ipGroups = [...view.list('ipGroups')]
    .map((group) => ({ ...group, assignedInterfaces: group.assignedInterfaces.filter(ofNode) }))
    .filter(
      ({ id, assignedInterfaces }) => assignedInterfaces.length > 0 || staticIps.some((one) => one.groupId === id),
    )
  const ipRoutes = [...view.list('ipRoutes')].filter(ofNode)
  const nodeIdentities = [...view.list('nodeIdentities')].filter(ofNode)
  return { ...Object.fromEntries(settings), staticIps, ipRoutes, nodeIdentities, ipGroups }
}

const BROUGHT = [...SETTINGS, 'staticIps', 'ipRoutes', 'nodeIdentities', 'ipGroups'] as const

/**
 * Reads the records that a node has sent.
 *
 * @throws {ApiError} INVALID_BODY if something in them is not a record, or not of this node.
 */
export function readNodeRecords(sent: unknown, nodeId: string): NodeRecords {
  const all = BROUGHT.map((section) => {
    const records: unknown = Reflect.get(Object(sent), section)
    const schema = validatorOf(SECTIONS[section].schema)
    if (!Array.isArray(records) || !records.every((record) => schema.Check(record))) throw wrong(section)
    return [section, records] as const
  })
  // Sound: each was checked to be of its section.
  const found = Object.fromEntries(all) as unknown as NodeRecords
  if (!isDeepStrictEqual(nodeRecords(contentsOf(found), nodeId), found)) throw wrong('records')
  return found
}

const wrong = (what: string) =>
  new ApiError('INVALID_BODY', `The ${what} of the joining node cannot be read; use the same version of Fulcrum`)

const contentsOf = (records: SectionContents): ConfigView => ({
  get: (section, id) => records[section]?.find((record) => record.id === id),
  list: (section) => records[section] ?? [],
})

/** Returns the kinds and names of the records, for display. */
export function shownRecords(records: NodeRecords): readonly { readonly resource: string; readonly name: string }[] {
  return BROUGHT.flatMap((section) =>
    (records[section] ?? []).map((record) => ({
      resource: section,
      name: String(Reflect.get(record, SECTIONS[section].nameField)),
    })),
  )
}

/**
 * Makes the records running on the present nodes, before the new node takes over their configuration. This is a
 * revision that nobody staged; repeating it changes nothing.
 *
 * @throws {ApiError} IN_USE, see `broughtBy`; APPLY_IN_PROGRESS if an apply is under way or waits for confirmation.
 */
export function bring(
  store: Pick<ConfigStore, 'agreed' | 'revision' | 'underWay' | 'unconfirmed' | 'edit'>,
  records: NodeRecords,
  node: { readonly id: string; readonly name: string },
  at: string,
): Promise<void> {
  return store.edit(() => {
    const changes = changesBy(store, records, node)
    if (changes.length === 0) return { result: undefined }
    const comment = `${node.name} has joined with its addresses and settings`
    const header = { applyId: newId(), revision: store.revision + 1, by: 'fulcrum', at, comment }
    return { result: undefined, entry: { op: 'promote', header, changes, unstaged: true } }
  })
}

/** @throws {ApiError} as `bring`, which applies these changes. */
export function changesBy(
  store: Pick<ConfigStore, 'agreed' | 'underWay' | 'unconfirmed'>,
  records: NodeRecords,
  node: { readonly id: string; readonly name: string },
): readonly Change[] {
  if (store.underWay() !== undefined || store.unconfirmed() !== undefined) {
    const message = 'An apply is running in the cluster, or waits for confirmation; join again when it has ended'
    throw new ApiError('APPLY_IN_PROGRESS', message)
  }
  return broughtBy(configView(store.agreed), records, node)
    .map(({ section, record }) => changeTo(store.agreed, { section, scope: CLUSTER, key: record.id }, record))
    .filter((change) => !changesNothing(change))
}

/** A record in its new form. */
export type Brought = {
  readonly [N in SectionName]: { readonly section: N; readonly record: SectionRecords[N] }
}[SectionName]

/**
 * Returns what a joining node changes in the configuration of the others: its own records are added. Groups of the same
 * subnet are merged; ids and names that are taken are replaced. Repeating it changes nothing.
 *
 * @throws {ApiError} IN_USE if one of its addresses belongs to another node or is a floating IP.
 */
export function broughtBy(
  view: ConfigView,
  records: NodeRecords,
  node: { readonly id: string; readonly name: string },
): readonly Brought[] {
  refuseTaken(view, records, node.id)
  const groups = records.ipGroups.map((group) => [group.id, metGroup(view, group, node)] as const)
  const groupIds = new Map(groups.map(([id, { id: met }]) => [id, met]))
  const ofNode = { staticIps: ofNodeIn(view, 'staticIps', node), ipRoutes: ofNodeIn(view, 'ipRoutes', node) }
  const staticIps = (records.staticIps ?? []).map((address) => {
    const known = ofNode.staticIps.find((one) => canonicalIp(one.ip) === canonicalIp(address.ip))
    const id = known?.id ?? freeId(view, 'staticIps', address.id)
    return { was: address.id, record: { ...address, id, groupId: groupIds.get(address.groupId) ?? address.groupId } }
  })
  const idOf = (was: string) => staticIps.find((one) => one.was === was)?.record.id ?? ''
  return [
    ...groups.map(([, record]) => ({ section: 'ipGroups', record }) as const),
    ...staticIps.map(({ record }) => ({ section: 'staticIps', record }) as const),
    ...(records.ipRoutes ?? []).map((route) => {
      const known = ofNode.ipRoutes.find((one) => isDeepStrictEqual(unnamed(one), unnamed(route)))
      const id = freeId(view, 'ipRoutes', route.id)
      const record = known ?? { ...route, id, name: freeName(view, 'ipRoutes', { id, name: route.name }, node) }
      return { section: 'ipRoutes', record } as const
    }),
    ...(records.userInterfaces ?? []).map((settings) => {
      const { ipId, SSLCertificate } = settings
      // Certificates belong to the cluster, and the key of this one stays where it is.
      const certificate = view.get('certificates', SSLCertificate) === undefined ? '' : SSLCertificate
      return {
        section: 'userInterfaces',
        record: { ...settings, ipId: idOf(ipId), SSLCertificate: certificate },
      } as const
    }),
    ...(['conntrackLimits', 'systemProxies', 'clocks', 'nodeIdentities'] as const).flatMap((section) =>
      // Sound: the records are of this section.
      (records[section] ?? []).map((record) => ({ section, record }) as Brought),
    ),
  ]
}

const unnamed = (route: IpRoute) => ({ ...route, id: '', name: '' })

function ofNodeIn<N extends 'staticIps' | 'ipRoutes'>(view: ConfigView, section: N, node: { readonly id: string }) {
  return [...view.list(section)].filter(({ nodeId }) => nodeId === node.id)
}

const freeId = (view: ConfigView, section: SectionName, id: string): string =>
  view.get(section, id) === undefined ? id : newId()

/** Refuses an address that is taken: with two machines behind one address, connections would reach either of them. */
function refuseTaken(view: ConfigView, { staticIps = [] }: NodeRecords, nodeId: string): void {
  const taken = new Map([
    ...[...view.list('floatingIps')].map(({ ip }) => [canonicalIp(ip), 'is a floating IP of the cluster'] as const),
    ...[...view.list('staticIps')]
      .filter((one) => one.nodeId !== nodeId)
      .map((one) => [canonicalIp(one.ip), `is an address of the node ${one.nodeId}`] as const),
  ])
  for (const { ip } of staticIps) {
    const why = taken.get(canonicalIp(ip))
    if (why !== undefined)
      throw new ApiError('IN_USE', `The address ${ip} of this node ${why}; change one of them first`)
  }
}

/** Returns the group of the same subnet with this node's interfaces added, or the node's own group if none exists. */
function metGroup(view: ConfigView, group: IpGroup, node: { readonly id: string; readonly name: string }): IpGroup {
  const met = [...view.list('ipGroups')].find((one) => isSame(one, group))
  if (met === undefined) {
    const id = freeId(view, 'ipGroups', group.id)
    return { ...group, id, name: freeName(view, 'ipGroups', { id, name: group.name }, node) }
  }
  const others = met.assignedInterfaces.filter(({ nodeId }) => nodeId !== node.id)
  return { ...met, assignedInterfaces: [...others, ...group.assignedInterfaces] }
}

function isSame(one: IpGroup, other: IpGroup): boolean {
  const networkOf = ({ networkIp, networkMask }: IpGroup) =>
    networkIp === '' ? '' : canonicalNetwork(`${networkIp}/${networkMask}`)
  if (networkOf(one) !== networkOf(other)) return false
  return one.networkIp !== '' || nameKey(one.name) === nameKey(other.name)
}

function freeName(
  view: ConfigView,
  section: 'ipGroups' | 'ipRoutes',
  { id, name }: { readonly id: string; readonly name: string },
  node: { readonly name: string },
): string {
  const taken = new Set([...view.list(section)].filter((one) => one.id !== id).map((one) => nameKey(one.name)))
  for (let number = 1; ; number++) {
    const more = number === 1 ? '' : number === 2 ? ` (${node.name})` : ` (${node.name} ${number - 1})`
    const free = `${name.slice(0, NAME_LENGTH_MAX - more.length)}${more}`
    if (!taken.has(nameKey(free))) return free
  }
}
