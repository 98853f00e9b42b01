import { type Static, type TSchema, Type } from 'typebox'
import { CreatedId, endpoint, NoData } from '../api/endpoint.ts'
import { ApiError, type FieldProblem, problemIn, refuseFields } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import type { ContextOf } from '../context/context.ts'
import { AlertTarget, TARGETS_MAX } from '../model/alerts.ts'
import { closed } from '../model/fields.ts'
import { TargetTested } from '../model/shown-alerts.ts'
import { mergedTarget, shownTarget } from '../rules/alert-secrets.ts'
import { targetProblems } from '../rules/alerts.ts'

const { id: _, name, enabled, type, ...fields } = AlertTarget.properties

const orNull = <T extends TSchema>(schema: T) =>
  Type.Optional(
    Type.Union([schema, Type.Null()], { description: `${String(Reflect.get(schema, 'description'))} null: none.` }),
  )

const OPTIONAL = {
  host: orNull(fields.host),
  port: orNull(fields.port),
  transport: orNull(fields.transport),
  caCertificate: orNull(fields.caCertificate),
  certificateId: orNull(fields.certificateId),
  username: orNull(fields.username),
  password: orNull(fields.password),
  from: orNull(fields.from),
  to: orNull(fields.to),
  url: orNull(fields.url),
  template: orNull(fields.template),
  secret: orNull(fields.secret),
  headers: orNull(fields.headers),
  version: orNull(fields.version),
  community: orNull(fields.community),
  authAlgorithm: orNull(fields.authAlgorithm),
  authPassphrase: orNull(fields.authPassphrase),
  privacyAlgorithm: orNull(fields.privacyAlgorithm),
  privacyPassphrase: orNull(fields.privacyPassphrase),
}
const Create = closed({ name, enabled: Type.Optional({ ...enabled, default: true }), type, ...OPTIONAL })
const Update = closed({
  name: Type.Optional(name),
  enabled: Type.Optional(enabled),
  type: Type.Optional(type),
  ...OPTIONAL,
})

const Shown = closed(
  AlertTarget.properties,
  'Secrets read **, and so does the part of a URL after the host; sent back as **, they keep the stored value.',
)

/** Returns the target after a change; refuses with all its problems. */
function merged(sent: Static<typeof Update>, stored: Omit<AlertTarget, 'id'> | undefined): Omit<AlertTarget, 'id'> {
  const { target, problems } = mergedTarget(sent, stored)
  const named = new Set(problems.map(({ field }) => field))
  const others = [...targetProblems(target), ...privacyProblems(target)].filter(({ field }) => !named.has(field))
  refuseFields([...problems, ...others])
  return target
}

/** Not a problem of stored targets: an earlier version accepted it. */
const privacyProblems = ({ privacyAlgorithm, privacyPassphrase, version }: Omit<AlertTarget, 'id'>) =>
  privacyAlgorithm === undefined || privacyPassphrase !== undefined || version === '2c'
    ? []
    : [problemIn('privacyPassphrase', 'is required with privacyAlgorithm: without it nothing is encrypted')]

/** Checks the fields of a body one by one. */
function sentProblems(sent: Partial<Static<typeof Update>>): readonly FieldProblem[] {
  const { url } = sent
  return typeof url === 'string' && !URL.canParse(url) ? [problemIn('url', 'cannot be read as a URL')] : []
}

function refuseTooMany(ctx: ContextOf['stage']): void {
  if (ctx.section('alertTargets').list().length >= TARGETS_MAX)
    throw new ApiError('LIMIT_REACHED', `There are already ${TARGETS_MAX} alert targets; delete one first`)
}

export const alertTargets = [
  endpoint({
    name: 'alertTargets.list',
    method: 'GET',
    path: '/alerts/targets',
    effect: 'read',
    extension: true,
    summary: 'List alert targets: mail, webhooks, syslog servers, SNMP managers',
    message: 'Alert targets',
    list: { searched: ['name', 'host', 'type'] },
    data: Type.Array(Shown),
    handle: (ctx) => ctx.section('alertTargets').list().map(shownTarget),
  }),
  endpoint({
    name: 'alertTargets.create',
    method: 'POST',
    path: '/alerts/targets',
    effect: 'stage',
    extension: true,
    status: 201,
    summary: 'Add a target for alerts; the type decides which fields are required',
    message: 'Alert target stored',
    body: Create,
    refuses: ['LIMIT_REACHED', 'PASSWORD_NOT_STORED'],
    rules: sentProblems,
    data: CreatedId,
    handle: (ctx, { body }) => {
      refuseTooMany(ctx)
      const id = newId()
      ctx.section('alertTargets').create({ id, ...merged({ enabled: true, ...body }, undefined) })
      return { id }
    },
  }),
  endpoint({
    name: 'alertTargets.get',
    method: 'GET',
    path: '/alerts/targets/{id}',
    effect: 'read',
    extension: true,
    summary: 'Read an alert target, without its secrets',
    message: 'Alert target',
    data: Shown,
    handle: (ctx, { params }) => shownTarget(ctx.section('alertTargets').get(params.id)),
  }),
  endpoint({
    name: 'alertTargets.update',
    method: 'PUT',
    path: '/alerts/targets/{id}',
    effect: 'stage',
    extension: true,
    summary: 'Change an alert target; omitted secrets are kept, unless the destination changes',
    message: 'Alert target stored',
    body: Update,
    refuses: ['PASSWORD_NOT_STORED'],
    rules: sentProblems,
    handle: (ctx, { params: { id }, body }) => {
      const targets = ctx.section('alertTargets')
      const { id: __, ...stored } = targets.get(id)
      targets.put({ id, ...merged(body, stored) })
    },
  }),
  endpoint({
    name: 'alertTargets.delete',
    method: 'DELETE',
    path: '/alerts/targets/{id}',
    effect: 'stage',
    extension: true,
    summary: 'Delete an alert target that no rule names; its pending notifications are dropped',
    message: 'Alert target {id} will be deleted with apply',
    data: NoData,
    handle: (ctx, { params }) => {
      ctx.section('alertTargets').remove(params.id)
      return []
    },
  }),
  endpoint({
    name: 'alertTargets.test',
    method: 'POST',
    path: '/alerts/targets/{id}/test',
    effect: 'act',
    extension: true,
    summary: 'Send a test message to a stored target, which need not be applied; `ok` reports whether it was accepted',
    message: 'Alert target tested',
    atOnce: { what: 'tests of alert targets', all_max: 4, each_max: 2 },
    data: TargetTested,
    handle: (ctx, { params }) => {
      const target = ctx.section('alertTargets').get(params.id)
      const certificate = ctx.section('certificates').find(target.certificateId ?? '')
      return ctx.alerts.test(target, certificate, ctx.actor.email)
    },
  }),
]
