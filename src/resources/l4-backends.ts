import { Type } from 'typebox'
import { CreatedId, endpoint } from '../api/endpoint.ts'
import { refuseFields } from '../base/errors.ts'
import { checkFrom } from '../health-checks/built-in.ts'
import { checkSettingProblems } from '../health-checks/rules.ts'
import { newId } from '../base/ids.ts'
import { memberNameProblems } from '../rules/host-names.ts'
import { backendProblems } from '../rules/layer4.ts'
import { closed, optional } from '../model/fields.ts'
import type { HealthCheck } from '../model/health-check.ts'
import { L4Backend } from '../model/layer4.ts'
import type { RealServer } from '../model/real-server.ts'

const { id: _id, name, ...settings } = L4Backend.properties

const BackendCreate = closed({ name, ...optional(settings) })
const BackendUpdate = closed(optional({ name, ...settings }))

const DEFAULTS = {
  scheduler: 'wlc' as const,
  persistTimeout: 0,
  persistMask: null,
  reals: [],
  healthCheck: { type: 'tcp' as const },
  fallback: null,
}

/** Checks rules beyond the schema, all at once. */
function refuseWrong(
  backend: L4Backend,
  checks: { find(id: string): HealthCheck | undefined },
  reals: { find(id: string): RealServer | undefined },
): void {
  refuseFields([
    ...backendProblems(backend),
    ...memberNameProblems(backend, (id) => reals.find(id)),
    ...checkSettingProblems(
      backend.healthCheck,
      'layer-4',
      checkFrom((id) => checks.find(id)),
    ),
  ])
}

export const l4Backends = [
  endpoint({
    name: 'l4Backends.list',
    method: 'GET',
    path: '/ipvsDirector/backends',
    effect: 'read',
    extension: true,
    summary: 'List Layer 4 backends',
    message: 'Layer 4 backends',
    data: Type.Array(L4Backend),
    list: { searched: ['name'] },
    handle: (ctx) => [...ctx.section('l4Backends').list()],
  }),
  endpoint({
    name: 'l4Backends.create',
    method: 'POST',
    path: '/ipvsDirector/backends',
    effect: 'stage',
    extension: true,
    status: 201,
    summary: 'Create a Layer 4 backend',
    message: 'Layer 4 backend stored',
    body: BackendCreate,
    rules: (body, unfit) => {
      const problems = backendProblems({ ...DEFAULTS, ...body })
      return unfit.has('persistTimeout') ? problems.filter(({ field }) => field !== 'persistMask') : problems
    },
    data: CreatedId,
    handle: (ctx, { body }) => {
      const id = newId()
      const backend = { ...DEFAULTS, ...body, id }
      refuseWrong(backend, ctx.section('healthChecks'), ctx.section('realServers'))
      ctx.section('l4Backends').create(backend)
      return { id }
    },
  }),
  endpoint({
    name: 'l4Backends.get',
    method: 'GET',
    path: '/ipvsDirector/backends/{id}',
    effect: 'read',
    extension: true,
    summary: 'Read a Layer 4 backend',
    message: 'Layer 4 backend',
    data: L4Backend,
    handle: (ctx, { params }) => ctx.section('l4Backends').get(params.id),
  }),
  endpoint({
    name: 'l4Backends.update',
    method: 'PUT',
    path: '/ipvsDirector/backends/{id}',
    effect: 'stage',
    extension: true,
    summary: 'Change a Layer 4 backend; omitted fields keep their value, a list sent replaces the stored one',
    message: 'Layer 4 backend stored',
    body: BackendUpdate,
    whenNull: { ...DEFAULTS, owner: '' },
    handle: (ctx, { params, body }) => {
      const backends = ctx.section('l4Backends')
      refuseWrong({ ...backends.get(params.id), ...body }, ctx.section('healthChecks'), ctx.section('realServers'))
      backends.merge(params.id, body)
    },
  }),
  endpoint({
    name: 'l4Backends.delete',
    method: 'DELETE',
    path: '/ipvsDirector/backends/{id}',
    effect: 'stage',
    extension: true,
    summary: 'Delete a Layer 4 backend that no frontend uses',
    message: 'Layer 4 backend {id} will be deleted with apply',
    handle: (ctx, { params }) => ctx.section('l4Backends').remove(params.id),
  }),
]
