import { Type } from 'typebox'
import { CreatedId, endpoint } from '../api/endpoint.ts'
import { refuseFields } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { httpOnlyProblems } from '../rules/layer7.ts'
import { frontendRuleProblems } from '../rules/l7-rules.ts'
import { closed } from '../model/fields.ts'
import { DEFAULT_MIN_TLS, L7Frontend } from '../model/layer7.ts'

const { id: _id, name, mode, ip, ports, ...settings } = L7Frontend.properties

const optionalSettings = {
  defaultBackendId: Type.Optional(settings.defaultBackendId),
  maxConn: Type.Optional(settings.maxConn),
  timeoutClient: Type.Optional(settings.timeoutClient),
  forwardFor: Type.Optional(settings.forwardFor),
  enabled: Type.Optional(settings.enabled),
  certificates: settings.certificates,
  cipherListId: settings.cipherListId,
  minTls: settings.minTls,
  httpRedirectToHttps: settings.httpRedirectToHttps,
  hsts: settings.hsts,
  rules: settings.rules,
}

const FrontendCreate = closed({ name, mode, ip, ports, ...optionalSettings })
const FrontendUpdate = closed({
  name: Type.Optional(name),
  mode: Type.Optional(mode),
  ip: Type.Optional(ip),
  ports: Type.Optional(ports),
  ...optionalSettings,
})

/** What a record without these fields means. */
const LATER_DEFAULTS = {
  certificates: [],
  cipherListId: null,
  minTls: DEFAULT_MIN_TLS,
  httpRedirectToHttps: false,
  hsts: false,
  rules: [],
} as const

const shown = (frontend: L7Frontend) => ({
  ...LATER_DEFAULTS,
  certificates: [...(frontend.certificates ?? [])],
  rules: [...(frontend.rules ?? [])],
  ...frontend,
})

function refuseWrong(frontend: Pick<L7Frontend, 'mode' | 'httpRedirectToHttps' | 'hsts' | 'rules'>): void {
  refuseFields([...httpOnlyProblems(frontend), ...frontendRuleProblems(frontend)])
}

const DEFAULTS = { defaultBackendId: null, maxConn: null, timeoutClient: 30, forwardFor: true, enabled: true }

export const l7Frontends = [
  endpoint({
    name: 'l7Frontends.list',
    method: 'GET',
    path: '/layer7proxy/frontends',
    effect: 'read',
    extension: true,
    summary: 'List Layer 7 frontends',
    message: 'Layer 7 frontends',
    data: Type.Array(L7Frontend),
    list: { searched: ['name', 'ip'] },
    handle: (ctx) => ctx.section('l7Frontends').list().map(shown),
  }),
  endpoint({
    name: 'l7Frontends.create',
    method: 'POST',
    path: '/layer7proxy/frontends',
    effect: 'stage',
    extension: true,
    status: 201,
    summary: 'Create a Layer 7 frontend',
    message: 'Layer 7 frontend stored',
    body: FrontendCreate,
    data: CreatedId,
    handle: (ctx, { body }) => {
      const id = newId()
      const required = { id, name: body.name, mode: body.mode, ip: body.ip, ports: body.ports }
      const frontend = { ...DEFAULTS, ...body, ...required }
      refuseWrong(frontend)
      ctx.section('l7Frontends').create(frontend)
      return { id }
    },
  }),
  endpoint({
    name: 'l7Frontends.get',
    method: 'GET',
    path: '/layer7proxy/frontends/{id}',
    effect: 'read',
    extension: true,
    summary: 'Read a Layer 7 frontend',
    message: 'Layer 7 frontend',
    data: L7Frontend,
    handle: (ctx, { params }) => shown(ctx.section('l7Frontends').get(params.id)),
  }),
  endpoint({
    name: 'l7Frontends.update',
    method: 'PUT',
    path: '/layer7proxy/frontends/{id}',
    effect: 'stage',
    extension: true,
    summary: 'Change a Layer 7 frontend; omitted fields keep their value',
    message: 'Layer 7 frontend stored',
    body: FrontendUpdate,
    whenNull: { ...DEFAULTS, ...LATER_DEFAULTS, certificates: [], rules: [] },
    handle: (ctx, { params, body }) => {
      const frontends = ctx.section('l7Frontends')
      refuseWrong({ ...frontends.get(params.id), ...body })
      frontends.merge(params.id, body)
    },
  }),
  endpoint({
    name: 'l7Frontends.delete',
    method: 'DELETE',
    path: '/layer7proxy/frontends/{id}',
    effect: 'stage',
    extension: true,
    summary: 'Delete a Layer 7 frontend',
    message: 'Layer 7 frontend {id} will be deleted with apply',
    handle: (ctx, { params }) => ctx.section('l7Frontends').remove(params.id),
  }),
]
