import { Type } from 'typebox'
import { CreatedId, endpoint } from '../api/endpoint.ts'
import { refuseFields } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { frontendProblems } from '../rules/layer4.ts'
import { closed, optional } from '../model/fields.ts'
import { L4Frontend } from '../model/layer4.ts'

const { id: _id, enabled, owner, ...required } = L4Frontend.properties

const FrontendCreate = closed({ ...required, enabled: Type.Optional(enabled), owner })
const FrontendUpdate = closed(optional({ ...required, enabled, owner }))

/** Valid values for absent fields, so that each sent field is checked on its own. */
const UNSENT = { ip: '192.0.2.1', ports: '' }

function refuseWrong(frontend: Pick<L4Frontend, 'ip' | 'ports'>): void {
  refuseFields(frontendProblems(frontend))
}

export const l4Frontends = [
  endpoint({
    name: 'l4Frontends.list',
    method: 'GET',
    path: '/ipvsDirector/frontends',
    effect: 'read',
    extension: true,
    summary: 'List Layer 4 frontends',
    message: 'Layer 4 frontends',
    data: Type.Array(L4Frontend),
    list: { searched: ['name', 'ip'] },
    handle: (ctx) => [...ctx.section('l4Frontends').list()],
  }),
  endpoint({
    name: 'l4Frontends.create',
    method: 'POST',
    path: '/ipvsDirector/frontends',
    effect: 'stage',
    extension: true,
    status: 201,
    summary: 'Create a Layer 4 frontend',
    message: 'Layer 4 frontend stored',
    body: FrontendCreate,
    rules: (body) => frontendProblems({ ...UNSENT, ...body }),
    data: CreatedId,
    handle: (ctx, { body }) => {
      refuseWrong(body)
      const id = newId()
      ctx.section('l4Frontends').create({ enabled: true, ...body, id })
      return { id }
    },
  }),
  endpoint({
    name: 'l4Frontends.get',
    method: 'GET',
    path: '/ipvsDirector/frontends/{id}',
    effect: 'read',
    extension: true,
    summary: 'Read a Layer 4 frontend',
    message: 'Layer 4 frontend',
    data: L4Frontend,
    handle: (ctx, { params }) => ctx.section('l4Frontends').get(params.id),
  }),
  endpoint({
    name: 'l4Frontends.update',
    method: 'PUT',
    path: '/ipvsDirector/frontends/{id}',
    effect: 'stage',
    extension: true,
    summary: 'Change a Layer 4 frontend; omitted fields keep their value',
    message: 'Layer 4 frontend stored',
    body: FrontendUpdate,
    rules: (body) => frontendProblems({ ...UNSENT, ...body }),
    whenNull: { enabled: true, owner: '' },
    handle: (ctx, { params, body }) => {
      const frontends = ctx.section('l4Frontends')
      refuseWrong({ ...frontends.get(params.id), ...body })
      frontends.merge(params.id, body)
    },
  }),
  endpoint({
    name: 'l4Frontends.delete',
    method: 'DELETE',
    path: '/ipvsDirector/frontends/{id}',
    effect: 'stage',
    extension: true,
    summary: 'Delete a Layer 4 frontend',
    message: 'Layer 4 frontend {id} will be deleted with apply',
    handle: (ctx, { params }) => ctx.section('l4Frontends').remove(params.id),
  }),
]
