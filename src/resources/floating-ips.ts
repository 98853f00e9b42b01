import { type Static, Type } from 'typebox'
import type { NodeAddresses } from '../context/addresses.ts'
import type { ContextOf } from '../context/context.ts'
import { CreatedId, endpoint, NoData } from '../api/endpoint.ts'
import { ApiError, problemIn, refuseFields } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { canonicalIp } from '../base/ip-network.ts'
import { closed, MomentOrNull, optional } from '../model/fields.ts'
import { FloatingIp, GroupId } from '../model/network.ts'
import { addressProblems } from '../rules/network.ts'

const { ip, preferredNode, owner } = FloatingIp.properties

const Body = closed({
  groupId: GroupId,
  ip,
  enabled: Type.Optional(
    Type.Boolean({
      description: 'Whether a node holds the address; frontends of a disabled floating IP serve nothing. Default true.',
    }),
  ),
  preferredNode,
  owner,
})

const HOLDER = Type.Object({
  ...FloatingIp.properties,
  holder: Type.Union([Type.String(), Type.Null()], {
    description: 'Node that holds the address now; null if no answering node holds it.',
  }),
  since: MomentOrNull(
    'ISO 8601: since when the node holds the address, as observed by its daemon; null if no node does.',
  ),
})

/** Adds the holder of the address. Two nodes can claim it for a moment at most: the last one to get it counts. */
function withHolder(floating: FloatingIp, told: ReadonlyMap<string, NodeAddresses>): Static<typeof HOLDER> {
  let holder: string | null = null
  let since: string | null = null
  for (const [nodeId, { held }] of told) {
    const here = held.find(({ ip: address }) => address === floating.ip)
    if (here === undefined || (since !== null && here.since < since)) continue
    holder = nodeId
    ;({ since } = here)
  }
  return { ...floating, holder, since }
}

/** Accepts an existing node, or the empty id for none. */
function refuseUnknownNode(nodeId: string | undefined, { interfaces }: Pick<ContextOf['stage'], 'interfaces'>): void {
  if (nodeId === undefined || nodeId === '' || interfaces.nodeIds().includes(nodeId)) return
  refuseFields([problemIn('preferredNode', `there is no node ${nodeId}; GET /cluster lists them`)])
}

/**
 * Returns the fields with the address in its shortest form. Refuses the address of a static IP: an address belongs to a
 * node or to the service.
 */
function fieldsFrom(body: Pick<Static<typeof Body>, 'groupId' | 'ip'>, ctx: ContextOf['stage']) {
  const group = ctx.section('ipGroups').find(body.groupId)
  // An unknown group is refused like any unknown reference, when the record is stored.
  if (group !== undefined) refuseFields(addressProblems(body.ip, group))
  const address = canonicalIp(body.ip)
  const taken = ctx.section('staticIps').list()
  if (taken.some((other) => other.ip === address)) {
    throw new ApiError('NAME_NOT_UNIQUE', `${address} is already a static IP`, {
      errors: [{ field: 'ip', code: 'NAME_NOT_UNIQUE', message: 'is taken' }],
    })
  }
  return { groupId: body.groupId, ip: address }
}

export const floatingIps = [
  endpoint({
    name: 'floatingIps.list',
    method: 'GET',
    path: '/fips',
    effect: 'read',
    extension: true,
    summary: 'List floating IPs',
    message: 'Floating IPs',
    data: Type.Array(HOLDER),
    list: { searched: ['ip'] },
    handle: async (ctx) => {
      const told = await ctx.addresses.all()
      return [...ctx.section('floatingIps').list()].map((floating) => withHolder(floating, told))
    },
  }),
  endpoint({
    name: 'floatingIps.create',
    method: 'POST',
    path: '/fips',
    effect: 'stage',
    extension: true,
    status: 201,
    summary: 'Create a floating IP on the interface of its IP group',
    message: 'Floating IP stored',
    body: Body,
    data: CreatedId,
    handle: (ctx, { body }) => {
      const id = newId()
      const { enabled = true, preferredNode: preferred } = body
      refuseUnknownNode(preferred, ctx)
      const more = {
        ...(preferred === undefined ? {} : { preferredNode: preferred }),
        ...(body.owner === undefined ? {} : { owner: body.owner }),
      }
      ctx.section('floatingIps').create({ id, ...fieldsFrom(body, ctx), enabled, ...more })
      return { id }
    },
  }),
  endpoint({
    name: 'floatingIps.get',
    method: 'GET',
    path: '/fips/{id}',
    effect: 'read',
    extension: true,
    summary: 'Read a floating IP',
    message: 'Floating IP',
    moving: ['holder', 'since'],
    data: HOLDER,
    handle: async (ctx, { params }) => {
      const floating = ctx.section('floatingIps').get(params.id)
      return withHolder(floating, await ctx.addresses.all())
    },
  }),
  endpoint({
    name: 'floatingIps.update',
    method: 'PUT',
    path: '/fips/{id}',
    effect: 'stage',
    extension: true,
    refuses: ['IN_USE'],
    summary:
      'Change a floating IP; an address with a listener cannot change, but can be disabled; omitted fields keep their value',
    message: 'Floating IP stored',
    body: closed(optional(Body.properties)),
    whenNull: { enabled: true, preferredNode: '', owner: '' },
    handle: (ctx, { params, body }) => {
      const addresses = ctx.section('floatingIps')
      const stored = addresses.get(params.id)
      const fields = fieldsFrom({ ...stored, ...body }, ctx)
      if (fields.ip !== stored.ip) addresses.refuseInUse(params.id)
      refuseUnknownNode(body.preferredNode, ctx)
      addresses.merge(params.id, { ...body, ...fields })
    },
  }),
  endpoint({
    name: 'floatingIps.move',
    method: 'PUT',
    path: '/fips/{id}/move',
    effect: 'act',
    extension: true,
    managedOnly: true,
    refuses: ['NODE_UNREACHABLE'],
    summary: 'Move a floating IP, and those that move together with it, to another node; returns once the node has it',
    message: 'Floating IP {id} has moved',
    body: closed({
      nodeId: Type.String({ minLength: 1, maxLength: 64, description: 'Node that the floating IP moves to.' }),
    }),
    data: NoData,
    handle: async (ctx, { params, body }) => {
      await ctx.addresses.move(params.id, body.nodeId)
      return []
    },
  }),
  endpoint({
    name: 'floatingIps.delete',
    method: 'DELETE',
    path: '/fips/{id}',
    effect: 'stage',
    extension: true,
    summary: 'Delete a floating IP that nothing uses',
    message: 'Floating IP {id} will be deleted with apply',
    handle: (ctx, { params }) => ctx.section('floatingIps').remove(params.id),
  }),
]
