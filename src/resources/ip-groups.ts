import { type Static, Type } from 'typebox'
import type { ContextOf } from '../api/context.ts'
import { CreatedId, endpoint } from '../api/endpoint.ts'
import { type FieldProblem, refuseFields } from '../api/refuse.ts'
import { Reply } from '../api/reply.ts'
import { newId } from '../ids.ts'
import { closed, Name } from '../model/fields.ts'
import type { NetworkInterface } from '../model/machine-facts.ts'
import { AssignedInterface, IpGroup } from '../model/network.ts'
import { groupProblems, interfaceIdOf, interfaceIn, subnetOf } from '../network-rules.ts'

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

/** What is sent over nothing: an update is a whole group, except that omitted interfaces stay. */
function fieldsOf(sent: Sent) {
  const { name } = sent
  return {
    name,
    networkIp: sent.networkIp ?? '',
    networkMask: sent.networkMask ?? 0,
    gateway: sent.gateway ?? '',
    defaultGateway: sent.defaultGateway ?? false,
  }
}

/** Interfaces by id; each node once, and only interfaces that are there. */
function assignedFrom(sent: Assigned, nodeId: string, found: readonly NetworkInterface[]) {
  const problems: FieldProblem[] = []
  const assigned = sent.map((one, index) => {
    const about = (field: string, message: string) =>
      problems.push({ field: `assignedInterfaces.${index}.${field}`, code: 'INVALID_BODY', message })
    const interfaceId = interfaceIdOf(one.interfaceId, found)
    if (one.nodeId !== nodeId) about('nodeId', `there is no node ${one.nodeId}`)
    else if (sent.findIndex((other) => other.nodeId === one.nodeId) < index) about('nodeId', 'has an interface already')
    if (interfaceId === undefined) about('interfaceId', `there is no interface ${one.interfaceId} on this node`)
    return { nodeId: one.nodeId, interfaceId: interfaceId ?? one.interfaceId }
  })
  return { assigned, problems }
}

/** A body as a record without its id; refuses all problems at once. */
async function groupFrom(
  sent: Sent,
  stored: Assigned | undefined,
  { nodeId, machine }: Pick<ContextOf['stage'], 'nodeId' | 'machine'>,
): Promise<Omit<IpGroup, 'id'>> {
  const fields = fieldsOf(sent)
  const problems = groupProblems(fields).map((problem) => ({ ...problem, code: 'INVALID_BODY' as const }))
  const subnet = subnetOf(fields)
  const mustLook = sent.assignedInterfaces === undefined ? stored === undefined && subnet !== undefined : true
  const found = mustLook ? await machine.interfaces() : []
  if (sent.assignedInterfaces !== undefined) {
    const { assigned, problems: others } = assignedFrom(sent.assignedInterfaces, nodeId, found)
    refuseFields([...problems, ...others])
    return { ...fields, assignedInterfaces: assigned }
  }
  refuseFields(problems)
  if (stored !== undefined) return { ...fields, assignedInterfaces: [...stored] }
  const interfaceId = subnet === undefined ? undefined : interfaceIn(subnet, found)
  return { ...fields, assignedInterfaces: interfaceId === undefined ? [] : [{ nodeId, interfaceId }] }
}

export const ipGroups = [
  endpoint({
    name: 'ipGroups.list',
    method: 'GET',
    path: '/ipgroups',
    effect: 'read',
    staged: false,
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
    staged: true,
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
    staged: false,
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
    staged: false,
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
    staged: true,
    summary: 'Change an IP group; omitted fields take their default, omitted interfaces stay',
    message: 'IP group stored',
    body: Body,
    data: CreatedId,
    handle: async (ctx, { params, body }) => {
      const groups = ctx.section('ipGroups')
      const stored = groups.get(params.id).assignedInterfaces
      groups.merge(params.id, await groupFrom(body, stored, ctx))
      return { id: params.id }
    },
  }),
  endpoint({
    name: 'ipGroups.delete',
    method: 'DELETE',
    path: '/ipgroups/{id}',
    effect: 'stage',
    staged: true,
    summary: 'Delete an IP group that no static IP is in',
    message: 'IP group {id} will be deleted with apply',
    handle: (ctx, { params }) => ctx.section('ipGroups').remove(params.id),
  }),
]
