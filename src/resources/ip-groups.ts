import { type Static, Type } from 'typebox'
import type { ContextOf } from '../context/context.ts'
import { Named } from '../api/by-name.ts'
import { CreatedId, endpoint } from '../api/endpoint.ts'
import { type FieldProblem, problemIn, refuseFields } from '../base/errors.ts'
import { Reply } from '../api/reply.ts'
import { newId } from '../base/ids.ts'
import { closed, Name } from '../model/fields.ts'
import { ADVERT_INTERVAL_S, AssignedInterface, IpGroup } from '../model/network.ts'
import { groupProblems, interfaceIdOf, interfaceIn, subnetOf, textOf } from '../rules/network.ts'

const { networkIp, networkMask, gateway, defaultGateway, vrrpId, advertInterval, preempt, connectionSync, owner } =
  IpGroup.properties

const SentInterface = closed({
  ...AssignedInterface.properties,
  interfaceId: Type.Union([AssignedInterface.properties.interfaceId, Named], {
    description: 'Interface of the node, by id or name, see GET /{applianceId}/interfaces.',
  }),
})
const Body = closed({
  name: Name,
  networkIp: Type.Optional(networkIp),
  networkMask: Type.Optional(networkMask),
  gateway: Type.Optional(gateway),
  defaultGateway: Type.Optional(defaultGateway),
  vrrpId,
  advertInterval,
  preempt,
  connectionSync,
  owner,
  assignedInterfaces: Type.Optional(
    Type.Array(SentInterface, {
      maxItems: 64,
      description:
        'Interface (id or name) on each node that carries the addresses. Omitted on create: the one that already has an address of the subnet; on change: unchanged.',
    }),
  ),
})
type Sent = Static<typeof Body>
type Assigned = readonly Static<typeof SentInterface>[]

/** Defaults of a group of which only the name was sent. */
const EMPTY = { networkIp: '', networkMask: 0, gateway: '', defaultGateway: false }

type Interfaces = ContextOf['stage']['interfaces']
type Subnet = Parameters<typeof subnetOf>[0]

/**
 * Returns the interfaces by id; each node once, and only existing interfaces. If a node is away, its interface id is
 * accepted as sent: the apply checks it.
 */
async function assignedFrom(sent: Assigned, interfaces: Interfaces) {
  const problems: FieldProblem[] = []
  const away: string[] = []
  const nodeIds = new Set(interfaces.nodeIds())
  const known = [...new Set(sent.map(({ nodeId }) => nodeId))].filter((nodeId) => nodeIds.has(nodeId))
  const found = new Map(await Promise.all(known.map(async (nodeId) => [nodeId, await interfaces.of(nodeId)] as const)))
  const assigned = sent.map(({ nodeId, interfaceId }, index) => {
    const about = (field: string, message: string) =>
      problems.push(problemIn(`assignedInterfaces.${index}.${field}`, message))
    if (!found.has(nodeId)) about('nodeId', `there is no node ${nodeId}`)
    else if (sent.findIndex((other) => other.nodeId === nodeId) < index) about('nodeId', 'already has an interface')
    const there = found.get(nodeId)
    if (there === undefined) away.push(nodeId)
    const id = interfaceIdOf(interfaceId, there)
    const why = there === undefined ? 'the node is unreachable: send the id of its' : 'the node does not have an'
    if (found.has(nodeId) && id === undefined) about('interfaceId', `${why} interface ${textOf(interfaceId)}`)
    return { nodeId, interfaceId: id ?? '' }
  })
  return { assigned, problems, away }
}

/** Returns, for each node, the interface that already has an address in the subnet. */
async function assignedBy(group: Subnet, interfaces: Interfaces): Promise<IpGroup['assignedInterfaces']> {
  const subnet = subnetOf(group)
  if (subnet === undefined) return []
  const each = interfaces.nodeIds().map(async (nodeId) => {
    const interfaceId = interfaceIn(subnet, (await interfaces.of(nodeId)) ?? [])
    return interfaceId === undefined ? [] : [{ nodeId, interfaceId }]
  })
  return (await Promise.all(each)).flat()
}

/** Merges the sent fields into the stored ones, as a record without its id; refuses with all problems at once. */
async function groupFrom(
  { assignedInterfaces: sent, ...fields }: Sent,
  stored: Omit<IpGroup, 'id'> | undefined,
  { interfaces }: Pick<ContextOf['stage'], 'interfaces'>,
): Promise<{ readonly group: Omit<IpGroup, 'id'>; readonly away: readonly string[] }> {
  const group = { ...EMPTY, ...stored, ...fields }
  const problems = groupProblems(group)
  if (sent !== undefined) {
    const { assigned, problems: others, away } = await assignedFrom(sent, interfaces)
    refuseFields([...problems, ...others])
    return { group: { ...group, assignedInterfaces: assigned }, away }
  }
  refuseFields(problems)
  const assignedInterfaces = stored?.assignedInterfaces ?? (await assignedBy(group, interfaces))
  return { group: { ...group, assignedInterfaces: [...assignedInterfaces] }, away: [] }
}

/** Names the nodes whose interfaces could not be checked. */
function storedGroup(id: string, away: readonly string[]): { id: string } | Reply<{ id: string }> {
  if (away.length === 0) return { id }
  const whose = away.map((nodeId) => `node ${nodeId} is unreachable`).join(', ')
  return Reply.with({ id }, { message: `IP group stored; ${whose}: the apply checks whether its interface exists` })
}

export const ipGroups = [
  endpoint({
    name: 'ipGroups.list',
    method: 'GET',
    path: '/ipgroups',
    effect: 'read',
    summary: 'List IP groups',
    message: 'IP groups',
    data: Type.Array(IpGroup),
    list: { searched: ['name', 'networkIp', 'gateway'] },
    handle: (ctx) => [...ctx.section('ipGroups').list()],
  }),
  endpoint({
    name: 'ipGroups.create',
    method: 'POST',
    path: '/ipgroups',
    effect: 'stage',
    status: 201,
    summary: 'Create an IP group: a subnet, and the interface on each node that carries its addresses',
    message: 'IP group stored',
    body: Body,
    rules: (body) => groupProblems({ ...EMPTY, ...body }),
    data: CreatedId,
    handle: async (ctx, { body }) => {
      const id = newId()
      const { group, away } = await groupFrom(body, undefined, ctx)
      ctx.section('ipGroups').create({ id, ...group })
      return storedGroup(id, away)
    },
  }),
  endpoint({
    name: 'ipGroups.unassigned',
    method: 'GET',
    path: '/ipgroups/unassigned',
    effect: 'read',
    summary: 'List IP groups that have no interface on this node; their addresses are on no node',
    message: 'IP groups without an interface',
    data: Type.Array(IpGroup),
    beside: Type.Object({ count: Type.Integer({ description: 'Number of IP groups without an interface.' }) }),
    list: { searched: ['name', 'networkIp', 'gateway'] },
    handle: (ctx) => {
      const groups = ctx
        .section('ipGroups')
        .list()
        .filter((group) => group.assignedInterfaces.every(({ nodeId }) => nodeId !== ctx.nodeId))
      return Reply.with(groups, { beside: { count: groups.length } })
    },
  }),
  endpoint({
    name: 'ipGroups.get',
    method: 'GET',
    path: '/ipgroups/{id}',
    effect: 'read',
    summary: 'Read an IP group',
    message: 'IP group',
    data: IpGroup,
    handle: (ctx, { params }) => ctx.section('ipGroups').get(params.id),
  }),
  endpoint({
    name: 'ipGroups.update',
    method: 'PUT',
    path: '/ipgroups/{id}',
    effect: 'stage',
    summary: 'Change an IP group; omitted fields keep their value, null clears one',
    message: 'IP group stored',
    body: Body,
    whenNull: {
      ...EMPTY,
      assignedInterfaces: [],
      vrrpId: 0,
      advertInterval: ADVERT_INTERVAL_S,
      preempt: false,
      connectionSync: false,
      owner: '',
    },
    data: CreatedId,
    handle: async (ctx, { params, body }) => {
      const groups = ctx.section('ipGroups')
      const stored = groups.get(params.id)
      const { group, away } = await groupFrom(body, stored, ctx)
      groups.merge(params.id, group)
      return storedGroup(params.id, away)
    },
  }),
  endpoint({
    name: 'ipGroups.delete',
    method: 'DELETE',
    path: '/ipgroups/{id}',
    effect: 'stage',
    summary: 'Delete an IP group that contains no static IP',
    message: 'IP group {id} will be deleted with apply',
    handle: (ctx, { params }) => ctx.section('ipGroups').remove(params.id),
  }),
]
