import { type Static, Type } from 'typebox'
import type { ContextOf } from '../context/context.ts'
import type { SectionReader } from '../context/sections.ts'
import { Named } from '../api/by-name.ts'
import { CreatedId, endpoint } from '../api/endpoint.ts'
import { ApiError, problemIn, refuseFields } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { closed, Name } from '../model/fields.ts'
import { IpRoute } from '../model/network.ts'
import { interfaceIdOf, routeProblems, textOf } from '../rules/network.ts'

const { id, name, type, destination, source, viaIp, metric, enabled, interface: device } = IpRoute.properties

const Shown = Type.Object({ id, name, type, destination, source, viaIp, interface: device, metric, enabled })
const Body = closed({
  name: Name,
  type,
  destination: Type.Optional(destination),
  source: Type.Optional(source),
  viaIp: Type.Optional(viaIp),
  interface: Type.Optional(
    Type.Union([Type.String({ maxLength: 64 }), Named], {
      description: 'Interface, by id or name; if empty, the interface follows from the next hop.',
    }),
  ),
  metric: Type.Optional(metric),
  enabled: Type.Optional(enabled),
})

const shown = ({ nodeId: _nodeId, ...route }: IpRoute): Static<typeof Shown> => route

/** Returns the record if it belongs to the node; a record of another node counts as unknown. */
function ofNode(routes: SectionReader<'ipRoutes'>, key: string, nodeId: string): IpRoute {
  const route = routes.get(key)
  if (route.nodeId !== nodeId) throw new ApiError('NOT_FOUND', `There is no route with id ${key} on that node`)
  return route
}

/** Defaults of a route of which only name and type were sent. */
const EMPTY = { destination: '', source: '', viaIp: '', interface: '', metric: null, enabled: true }

/** Merges the sent fields into the stored ones. Refuses with all problems at once. */
async function routeFrom(
  { interface: sent, ...fields }: Static<typeof Body>,
  stored: IpRoute | undefined,
  nodeId: string,
  { interfaces }: Pick<ContextOf['stage'], 'interfaces'>,
): Promise<Omit<IpRoute, 'id' | 'nodeId'>> {
  const wanted = textOf(sent ?? '')
  const found = wanted === '' ? undefined : await interfaces.of(nodeId)
  // If the node is away, the apply checks the id of its interface.
  const interfaceId = wanted === '' ? '' : interfaceIdOf(sent ?? '', found)
  const unknown =
    found === undefined
      ? `${wanted}: the node is unreachable, send the id`
      : `is not an interface of that node: ${wanted}`
  const link = sent === undefined ? {} : { interface: interfaceId ?? wanted }
  const route = { ...EMPTY, ...stored, ...fields, ...link }
  refuseFields([...routeProblems(route), ...(interfaceId === undefined ? [problemIn('interface', unknown)] : [])])
  return route
}

export const ipRoutes = [
  endpoint({
    name: 'ipRoutes.list',
    method: 'GET',
    path: '/{applianceId}/routes',
    answeredByAny: 'for members',
    effect: 'read',
    summary: 'List the routes of a node',
    message: 'Routes',
    data: Type.Array(Shown),
    list: { searched: ['name', 'destination', 'source', 'viaIp'] },
    handle: (ctx, { params }) =>
      ctx
        .section('ipRoutes')
        .list()
        .filter(({ nodeId }) => nodeId === params.applianceId)
        .map(shown),
  }),
  endpoint({
    name: 'ipRoutes.create',
    method: 'POST',
    path: '/{applianceId}/routes',
    answeredByAny: 'for members',
    effect: 'stage',
    status: 201,
    summary: 'Create a route: default, static, policy (by source) or blackhole',
    message: 'Route stored',
    body: Body,
    rules: ({ type: kind, interface: link = '', ...body }) =>
      kind === undefined ? [] : routeProblems({ ...EMPTY, ...body, type: kind, interface: textOf(link) }),
    data: CreatedId,
    handle: async (ctx, { params, body }) => {
      const key = newId()
      const route = await routeFrom(body, undefined, params.applianceId, ctx)
      ctx.section('ipRoutes').create({ id: key, nodeId: params.applianceId, ...route })
      return { id: key }
    },
  }),
  endpoint({
    name: 'ipRoutes.get',
    method: 'GET',
    path: '/{applianceId}/routes/{id}',
    answeredByAny: 'for members',
    effect: 'read',
    summary: 'Read a route',
    message: 'Route',
    data: Shown,
    handle: (ctx, { params }) => shown(ofNode(ctx.section('ipRoutes'), params.id, params.applianceId)),
  }),
  endpoint({
    name: 'ipRoutes.update',
    method: 'PUT',
    path: '/{applianceId}/routes/{id}',
    answeredByAny: 'for members',
    effect: 'stage',
    summary: 'Change a route; omitted fields keep their value, null clears one',
    message: 'Route stored',
    body: Body,
    whenNull: EMPTY,
    handle: async (ctx, { params, body }) => {
      const routes = ctx.section('ipRoutes')
      const stored = ofNode(routes, params.id, params.applianceId)
      routes.merge(params.id, await routeFrom(body, stored, params.applianceId, ctx))
    },
  }),
  endpoint({
    name: 'ipRoutes.delete',
    method: 'DELETE',
    path: '/{applianceId}/routes/{id}',
    answeredByAny: 'for members',
    effect: 'stage',
    summary: 'Delete a route',
    message: 'Route {id} will be deleted with apply',
    handle: (ctx, { params }) => {
      const routes = ctx.section('ipRoutes')
      ofNode(routes, params.id, params.applianceId)
      routes.remove(params.id)
    },
  }),
]
