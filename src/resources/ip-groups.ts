import { type Static, Type } from 'typebox'
import type { ContextOf } from '../context/context.ts'
import { CreatedId, endpoint } from '../api/endpoint.ts'
import { type FieldProblem, problemIn, refuseFields } from '../base/errors.ts'
import { Reply } from '../api/reply.ts'
import { newId } from '../base/ids.ts'
import { closed, Name } from '../model/fields.ts'
import type { NetworkInterface } from '../model/machine-facts.ts'
import { AssignedInterface, IpGroup } from '../model/network.ts'
import { groupProblems, interfaceIdOf, interfaceIn, subnetOf } from '../rules/network.ts'

const { networkIp, networkMask, gateway, defaultGateway } = IpGroup.properties

const Body = closed({
  name: Name,
  networkIp: Type.Optional(networkIp),
  networkMask: Type.Optional(networkMask),
  gateway: Type.Optional(gateway),
  defaultGateway: Type.Optional(defaultGateway),
  assignedInterfaces: Type.Optional(
    Type.Array(AssignedInterface, {
      maxItems: 64,
      description:
        'The interface (id or name) on each node that carries the addresses. Omitted on create: the one that already has an address of the subnet; on change: as stored.',
    }),
  ),
})
type Sent = Static<typeof Body>
type Assigned = readonly Static<typeof AssignedInterface>[]

/** A group of which nothing but the name is known. */
const EMPTY = { networkIp: '', networkMask: 0, gateway: '', defaultGateway: false }

/** Interfaces by id; each node once, and only interfaces that are there. */
function assignedFrom(sent: Assigned, nodeId: string, found: readonly NetworkInterface[]) {
  const problems: FieldProblem[] = []
  const assigned = sent.map((one, index) => {
    const about = (field: string, message: string) =>
      problems.push(problemIn(`assignedInterfaces.${index}.${field}`, message))
    const interfaceId = interfaceIdOf(one.interfaceId, found)
    if (one.nodeId !== nodeId) about('nodeId', `there is no node ${one.nodeId}`)
    else if (sent.findIndex((other) => other.nodeId === one.nodeId) < index) about('nodeId', 'has an interface already')
    if (interfaceId === undefined) about('interfaceId', `there is no interface ${one.interfaceId} on this node`)
    return { nodeId: one.nodeId, interfaceId: interfaceId ?? one.interfaceId }
  })
  return { assigned, problems }
}

/** What is sent over what is stored, as a record without its id; refuses all problems at once. */
async function groupFrom(
  { assignedInterfaces: sent, ...fields }: Sent,
  stored: Omit<IpGroup, 'id'> | undefined,
  { nodeId, machine }: Pick<ContextOf['stage'], 'nodeId' | 'machine'>,
): Promise<Omit<IpGroup, 'id'>> {
  const group = { ...EMPTY, ...stored, ...fields }
  const problems = groupProblems(group)
  if (sent !== undefined) {
    const { assigned, problems: others } = assignedFrom(sent, nodeId, await machine.interfaces())
    refuseFields([...problems, ...others])
    return { ...group, assignedInterfaces: assigned }
  }
  refuseFields(problems)
  if (stored !== undefined) return { ...group, assignedInterfaces: [...stored.assignedInterfaces] }
  const subnet = subnetOf(group)
  const interfaceId = subnet === undefined ? undefined : interfaceIn(subnet, await machine.interfaces())
  return { ...group, assignedInterfaces: interfaceId === undefined ? [] : [{ nodeId, interfaceId }] }
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
    data: CreatedId,
    handle: async (ctx, { body }) => {
      const id = newId()
      ctx.section('ipGroups').create({ id, ...(await groupFrom(body, undefined, ctx)) })
      return { id }
    },
  }),
  endpoint({
    name: 'ipGroups.unassigned',
    method: 'GET',
    path: '/ipgroups/unassigned',
    effect: 'read',
    summary: 'List IP groups without an interface on this node, whose addresses nobody has',
    message: 'IP groups without an interface',
    data: Type.Array(IpGroup),
    beside: Type.Object({ count: Type.Integer({ description: 'Number of IP groups without an interface.' }) }),
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
    whenNull: { ...EMPTY, assignedInterfaces: [] },
    data: CreatedId,
    handle: async (ctx, { params, body }) => {
      const groups = ctx.section('ipGroups')
      const stored = groups.get(params.id)
      groups.merge(params.id, await groupFrom(body, stored, ctx))
      return { id: params.id }
    },
  }),
  endpoint({
    name: 'ipGroups.delete',
    method: 'DELETE',
    path: '/ipgroups/{id}',
    effect: 'stage',
    summary: 'Delete an IP group that no static IP is in',
    message: 'IP group {id} will be deleted with apply',
    handle: (ctx, { params }) => ctx.section('ipGroups').remove(params.id),
  }),
]
