import { type Static, Type } from 'typebox'
import type { SectionReader } from '../context/sections.ts'
import { CreatedId, endpoint } from '../api/endpoint.ts'
import { ApiError, problemIn, refuseFields } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { canonicalIp, familyOf } from '../base/ip-network.ts'
import { closed, Ip } from '../model/fields.ts'
import { GroupId, StaticIp } from '../model/network.ts'
import { addressProblems } from '../rules/network.ts'

const { id, groupId, ip, externalPingCheck } = StaticIp.properties

const Shown = Type.Object({ id, groupId, ip, externalPingCheck })
const Body = closed({
  groupId: GroupId,
  ip,
  externalPingCheck: Type.Optional(
    Type.Boolean({
      description:
        'Whether the address is refused if another machine has it, and the gateway is pinged afterwards. Default true.',
    }),
  ),
})

const shown = ({ nodeId: _nodeId, ...address }: StaticIp): Static<typeof Shown> => address

/** Returns the record if it belongs to the node; a record of another node counts as unknown. */
function ofNode(addresses: SectionReader<'staticIps'>, key: string, nodeId: string): StaticIp {
  const address = addresses.get(key)
  if (address.nodeId !== nodeId) throw new ApiError('NOT_FOUND', `There is no static IP with id ${key} on that node`)
  return address
}

/** Addresses are stored in their shortest form: two spellings are one address. */
function fieldsFrom(body: Static<typeof Body>, groups: SectionReader<'ipGroups'>) {
  const group = groups.find(body.groupId)
  // An unknown group is refused like any unknown reference, when the record is stored.
  if (group !== undefined) refuseFields(addressProblems(body.ip, group))
  return { groupId: body.groupId, ip: canonicalIp(body.ip) }
}

const Ping = Type.Object({
  ok: Type.Boolean({ description: 'Whether any request was answered.' }),
  from: Ip,
  to: Ip,
  sent: Type.Integer({ description: 'Number of echo requests sent.' }),
  received: Type.Integer({ description: 'Number of echo requests answered.' }),
  roundTripMs: Type.Union([Type.Number(), Type.Null()], {
    description: 'Average round-trip time in milliseconds; null without an answer.',
  }),
  reason: Type.Union([Type.String(), Type.Null()], { description: 'Why there was no answer; null if there was one.' }),
})

/** Returns the address to ping: the given one, or the gateway of the group. */
function targetOf(address: StaticIp, to: string | undefined, groups: SectionReader<'ipGroups'>): string {
  const gateway = groups.find(address.groupId)?.gateway ?? ''
  const target = to ?? gateway
  const refuse = (message: string) => refuseFields([problemIn('to', message)])
  if (target === '') refuse('is required: the IP group has no gateway')
  if (familyOf(target) !== familyOf(address.ip)) refuse(`must have the same address family as ${address.ip}`)
  return target
}

export const staticIps = [
  endpoint({
    name: 'staticIps.list',
    method: 'GET',
    path: '/{applianceId}/sips',
    answeredByAny: 'for members',
    effect: 'read',
    summary: 'List the static IPs of a node',
    message: 'Static IPs',
    data: Type.Array(Shown),
    list: { searched: ['ip'] },
    handle: (ctx, { params }) =>
      ctx
        .section('staticIps')
        .list()
        .filter(({ nodeId }) => nodeId === params.applianceId)
        .map(shown),
  }),
  endpoint({
    name: 'staticIps.create',
    method: 'POST',
    path: '/{applianceId}/sips',
    answeredByAny: 'for members',
    effect: 'stage',
    status: 201,
    summary: 'Create a static IP on the interface of its IP group',
    message: 'Static IP stored',
    body: Body,
    data: CreatedId,
    handle: (ctx, { params, body }) => {
      const key = newId()
      const fields = fieldsFrom(body, ctx.section('ipGroups'))
      const { externalPingCheck: isChecked = true } = body
      ctx.section('staticIps').create({ id: key, nodeId: params.applianceId, ...fields, externalPingCheck: isChecked })
      return { id: key }
    },
  }),
  endpoint({
    name: 'staticIps.get',
    method: 'GET',
    path: '/{applianceId}/sips/{id}',
    answeredByAny: 'for members',
    effect: 'read',
    summary: 'Read a static IP',
    message: 'Static IP',
    data: Shown,
    handle: (ctx, { params }) => shown(ofNode(ctx.section('staticIps'), params.id, params.applianceId)),
  }),
  endpoint({
    name: 'staticIps.update',
    method: 'PUT',
    path: '/{applianceId}/sips/{id}',
    answeredByAny: 'for members',
    effect: 'stage',
    refuses: ['IN_USE'],
    summary: 'Change a static IP; an address with a listener cannot change; omitted fields keep their value',
    message: 'Static IP stored',
    body: Body,
    whenNull: { externalPingCheck: true },
    handle: (ctx, { params, body }) => {
      const addresses = ctx.section('staticIps')
      const stored = ofNode(addresses, params.id, params.applianceId)
      const fields = fieldsFrom(body, ctx.section('ipGroups'))
      if (fields.ip !== stored.ip) addresses.refuseInUse(params.id)
      addresses.merge(params.id, { ...fields, externalPingCheck: body.externalPingCheck })
    },
  }),
  endpoint({
    name: 'staticIps.delete',
    method: 'DELETE',
    path: '/{applianceId}/sips/{id}',
    answeredByAny: 'for members',
    effect: 'stage',
    refuses: ['IP_MISMATCH', 'TRANSACTION_OPEN'],
    summary: 'Delete a static IP that nothing uses; refused while a transaction is open',
    message: 'Static IP {id} will be deleted with apply',
    query: closed({ ip: Ip }),
    handle: (ctx, { params, query }) => {
      ctx.transactions.refuseOpen()
      const addresses = ctx.section('staticIps')
      const stored = ofNode(addresses, params.id, params.applianceId)
      if (canonicalIp(query.ip) !== stored.ip) {
        throw new ApiError('IP_MISMATCH', `Static IP ${params.id} is ${stored.ip}, not ${query.ip}`, {
          data: { ip: stored.ip },
        })
      }
      addresses.remove(params.id)
    },
  }),
  endpoint({
    name: 'staticIps.ping',
    method: 'POST',
    path: '/{applianceId}/sips/{id}/ping',
    effect: 'act',
    extension: true,
    summary: 'Ping the gateway of its group, or another address, from a static IP',
    message: 'Pinged from static IP {id}',
    body: closed({ to: Type.Optional(Ip) }),
    data: Ping,
    handle: async (ctx, { params, body }) => {
      const address = ofNode(ctx.section('staticIps'), params.id, params.applianceId)
      const [from, to] = [address.ip, targetOf(address, body.to, ctx.section('ipGroups'))]
      const { ok, sent, received, roundTrip_ms, reason } = await ctx.machine.ping(from, to)
      return { ok, from, to, sent, received, roundTripMs: roundTrip_ms, reason: reason ?? null }
    },
  }),
]
