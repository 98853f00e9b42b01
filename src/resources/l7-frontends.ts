import { Type } from 'typebox'
import { CreatedId, endpoint } from '../api/endpoint.ts'
import { Reply } from '../api/reply.ts'
import { ApiError, refuseFields } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { frontendProblems } from '../rules/layer7.ts'
import { closed } from '../model/fields.ts'
import { L7_FRONTEND_UNSET, L7Frontend } from '../model/layer7.ts'
import type { MachineFacts } from '../model/machine-facts.ts'

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
  logs: settings.logs,
  rules: settings.rules,
  maintenance: settings.maintenance,
  errorPages: settings.errorPages,
  compression: settings.compression,
  timeouts: settings.timeouts,
  alpn: settings.alpn,
  http3: settings.http3,
  proxyProtocol: settings.proxyProtocol,
  clientCa: settings.clientCa,
  clientVerify: settings.clientVerify,
  owner: settings.owner,
}

const FrontendCreate = closed({ name, mode, ip, ports, ...optionalSettings })
const FrontendUpdate = closed({
  name: Type.Optional(name),
  mode: Type.Optional(mode),
  ip: Type.Optional(ip),
  ports: Type.Optional(ports),
  ...optionalSettings,
})

/** The first version that knows the rendered QUIC directives. */
const QUIC_SINCE = 2.9

const shown = (frontend: L7Frontend): L7Frontend => ({
  ...structuredClone(L7_FRONTEND_UNSET),
  ...frontend,
})

const refuseWrong = (frontend: Parameters<typeof frontendProblems>[0]) => refuseFields(frontendProblems(frontend))

/** Checks this node only: for the other nodes, their HAProxy judges the whole file. */
async function refuseUnsupported({ http3 = false }: { readonly http3?: boolean | null }, machine: MachineFacts) {
  const haproxy = http3 === true ? await machine.haproxy() : undefined
  if (http3 !== true || (haproxy?.hasQuic === true && Number.parseFloat(haproxy.version) >= QUIC_SINCE)) return
  const found =
    haproxy === undefined ? 'none is installed' : `this is ${haproxy.version}${haproxy.hasQuic ? '' : ' without'}`
  const message = `http3 needs HAProxy ${QUIC_SINCE} or later, built with QUIC, but ${found}`
  throw new ApiError('NOT_SUPPORTED', message, { errors: [{ field: 'http3', code: 'NOT_SUPPORTED', message }] })
}

/** Fields that others need and that may have been sent with an invalid value. */
const NEEDED = ['certificates', 'clientCa'] as const
const NEEDING: ReadonlySet<string> = new Set(['http3', 'clientVerify'])

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
    handle: (ctx) => Reply.each(ctx.section('l7Frontends').list(), shown),
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
    rules: ({ mode: sent, ...body }, unfit) => {
      const problems = sent === undefined ? [] : frontendProblems({ ...DEFAULTS, ...body, mode: sent })
      const isKnown = NEEDED.every((field) => !unfit.has(field))
      return isKnown ? problems : problems.filter(({ field }) => !NEEDING.has(field))
    },
    data: CreatedId,
    prepare: (ctx, { body }) => refuseUnsupported(body, ctx.machine),
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
    whenNull: { ...DEFAULTS, ...L7_FRONTEND_UNSET, owner: '' },
    prepare: (ctx, { body }) => refuseUnsupported(body, ctx.machine),
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
