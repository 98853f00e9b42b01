import { Type } from 'typebox'
import { CreatedId, endpoint } from '../api/endpoint.ts'
import { Reply } from '../api/reply.ts'
import { refuseFields } from '../base/errors.ts'
import { checkFrom } from '../health-checks/built-in.ts'
import { checkSettingProblems } from '../health-checks/rules.ts'
import { newId } from '../base/ids.ts'
import { closed, optional } from '../model/fields.ts'
import type { HealthCheck, HealthCheckSetting } from '../model/health-check.ts'
import { L7_BACKEND_UNSET, L7Backend } from '../model/layer7.ts'
import type { RealServer } from '../model/real-server.ts'
import { memberPortProblems } from '../rules/host-names.ts'
import { backendProblems } from '../rules/layer7.ts'

const { id: _id, name, mode, healthCheck, ...settings } = L7Backend.properties

const BackendCreate = closed({ name, mode, ...optional({ ...settings, healthCheck }) })
const BackendUpdate = closed(optional({ name, mode, ...settings, healthCheck }))

const DEFAULTS = {
  balance: 'roundrobin' as const,
  persistence: { type: 'none' as const },
  reals: [],
  healthCheck: { type: 'tcp' as const },
  fallback: null,
  timeoutConnect: 5,
  timeoutServer: 30,
  enabled: true,
}

const shown = (backend: L7Backend) => ({ ...structuredClone(L7_BACKEND_UNSET), ...backend })

/** Checks the resulting backend, and its health check if one was sent. */
function refuseWrong(
  backend: Omit<L7Backend, 'id'>,
  sent: HealthCheckSetting | undefined,
  checks: { find(id: string): HealthCheck | undefined },
  reals: { find(id: string): RealServer | undefined },
): void {
  const checkOf = checkFrom((id) => checks.find(id))
  refuseFields([
    ...(sent === undefined ? [] : checkSettingProblems(sent, 'layer-7', checkOf)),
    ...backendProblems(backend),
    ...memberPortProblems(backend, (id) => reals.find(id)),
  ])
}

export const l7Backends = [
  endpoint({
    name: 'l7Backends.list',
    method: 'GET',
    path: '/layer7proxy/backends',
    effect: 'read',
    extension: true,
    summary: 'List Layer 7 backends',
    message: 'Layer 7 backends',
    data: Type.Array(L7Backend),
    list: { searched: ['name'] },
    handle: (ctx) => Reply.each(ctx.section('l7Backends').list(), shown),
  }),
  endpoint({
    name: 'l7Backends.create',
    method: 'POST',
    path: '/layer7proxy/backends',
    effect: 'stage',
    extension: true,
    status: 201,
    summary: 'Create a Layer 7 backend',
    message: 'Layer 7 backend stored',
    body: BackendCreate,
    rules: ({ mode: sent, ...body }) =>
      sent === undefined ? [] : backendProblems({ ...DEFAULTS, ...body, mode: sent }),
    data: CreatedId,
    handle: (ctx, { body }) => {
      const backend = { ...DEFAULTS, ...body }
      refuseWrong(backend, body.healthCheck, ctx.section('healthChecks'), ctx.section('realServers'))
      const id = newId()
      ctx.section('l7Backends').create({ ...backend, id })
      return { id }
    },
  }),
  endpoint({
    name: 'l7Backends.get',
    method: 'GET',
    path: '/layer7proxy/backends/{id}',
    effect: 'read',
    extension: true,
    summary: 'Read a Layer 7 backend',
    message: 'Layer 7 backend',
    data: L7Backend,
    handle: (ctx, { params }) => shown(ctx.section('l7Backends').get(params.id)),
  }),
  endpoint({
    name: 'l7Backends.update',
    method: 'PUT',
    path: '/layer7proxy/backends/{id}',
    effect: 'stage',
    extension: true,
    summary: 'Change a Layer 7 backend; omitted fields keep their value, a list sent replaces the stored one',
    message: 'Layer 7 backend stored',
    body: BackendUpdate,
    whenNull: { ...DEFAULTS, ...L7_BACKEND_UNSET, owner: '' },
    handle: (ctx, { params, body }) => {
      const stored = ctx.section('l7Backends').get(params.id)
      refuseWrong({ ...stored, ...body }, body.healthCheck, ctx.section('healthChecks'), ctx.section('realServers'))
      ctx.section('l7Backends').merge(params.id, body)
    },
  }),
  endpoint({
    name: 'l7Backends.delete',
    method: 'DELETE',
    path: '/layer7proxy/backends/{id}',
    effect: 'stage',
    extension: true,
    summary: 'Delete a Layer 7 backend that no frontend uses',
    message: 'Layer 7 backend {id} will be deleted with apply',
    handle: (ctx, { params }) => ctx.section('l7Backends').remove(params.id),
  }),
]
