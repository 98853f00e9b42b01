import { type Static, Type } from 'typebox'
import type { ContextOf } from '../api/context.ts'
import { CreatedId, endpoint } from '../api/endpoint.ts'
import { refuseFields } from '../api/refuse.ts'
import { ApiError } from '../errors.ts'
import { newId } from '../ids.ts'
import { canonicalIp } from '../ip-network.ts'
import { closed } from '../model/fields.ts'
import { FloatingIp, GroupId } from '../model/network.ts'
import { addressProblems } from '../network-rules.ts'

const { ip } = FloatingIp.properties

const Body = closed({
  groupId: GroupId,
  ip,
  enabled: Type.Optional(
    Type.Boolean({
      description:
        'Whether a node has the address; frontends on a disabled one rest. Default true on create, as stored on change.',
    }),
  ),
})

/** Kept in the shortest form, and of no static IP: an address belongs to a node or to the service. */
function fieldsFrom(body: Static<typeof Body>, ctx: ContextOf['stage']) {
  const group = ctx.section('ipGroups').find(body.groupId)
  // An unknown group is refused as every unknown reference, when the record is stored.
  const problems = group === undefined ? [] : addressProblems(body.ip, group)
  refuseFields(problems.map((problem) => ({ ...problem, code: 'INVALID_BODY' })))
  const address = canonicalIp(body.ip)
  const taken = ctx.section('staticIps').list()
  if (taken.some((other) => other.ip === address)) {
    throw new ApiError('NAME_NOT_UNIQUE', `${address} is a static IP already`, {
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
    staged: false,
    extension: true,
    summary: 'List floating IPs',
    message: 'Floating IPs',
    data: Type.Array(FloatingIp),
    handle: (ctx) => [...ctx.section('floatingIps').list()],
  }),
  endpoint({
    name: 'floatingIps.create',
    method: 'POST',
    path: '/fips',
    effect: 'stage',
    staged: true,
    extension: true,
    status: 201,
    summary: 'Create a floating IP on the interface of its IP group',
    message: 'Floating IP stored',
    body: Body,
    data: CreatedId,
    handle: (ctx, { body }) => {
      const id = newId()
      ctx.section('floatingIps').create({ id, ...fieldsFrom(body, ctx), enabled: body.enabled ?? true })
      return { id }
    },
  }),
  endpoint({
    name: 'floatingIps.get',
    method: 'GET',
    path: '/fips/{id}',
    effect: 'read',
    staged: false,
    extension: true,
    summary: 'Read a floating IP',
    message: 'Floating IP',
    data: FloatingIp,
    handle: (ctx, { params }) => ctx.section('floatingIps').get(params.id),
  }),
  endpoint({
    name: 'floatingIps.update',
    method: 'PUT',
    path: '/fips/{id}',
    effect: 'stage',
    staged: true,
    extension: true,
    summary: 'Change a floating IP; an address that something listens on stays, but may be disabled',
    message: 'Floating IP stored',
    body: Body,
    handle: (ctx, { params, body }) => {
      const addresses = ctx.section('floatingIps')
      const stored = addresses.get(params.id)
      const fields = fieldsFrom(body, ctx)
      if (fields.ip !== stored.ip) addresses.refuseInUse(params.id)
      addresses.merge(params.id, { ...fields, enabled: body.enabled })
    },
  }),
  endpoint({
    name: 'floatingIps.delete',
    method: 'DELETE',
    path: '/fips/{id}',
    effect: 'stage',
    staged: true,
    extension: true,
    summary: 'Delete a floating IP that nothing uses',
    message: 'Floating IP {id} will be deleted with apply',
    handle: (ctx, { params }) => ctx.section('floatingIps').remove(params.id),
  }),
]
