import { type Static, Type } from 'typebox'
import type { ContextOf } from '../context/context.ts'
import { CreatedId, endpoint } from '../api/endpoint.ts'
import { ApiError, type FieldProblem, problemIn, refuseFields } from '../base/errors.ts'
import { flagsOf } from '../health-checks/asked-check.ts'
import { builtInCheck, builtInChecks, checkFrom } from '../health-checks/built-in.ts'
import { brokenOrders } from '../health-checks/dns-script.ts'
import { headersOf } from '../health-checks/declarations.ts'
import { brokenBy, valueProblems } from '../health-checks/rules.ts'
import { isFileName, secretProblems, sentCheckProblems } from '../health-checks/sent-check.ts'
import { newId } from '../base/ids.ts'
import { closed, Id, Ip, Port } from '../model/fields.ts'
import {
  declared,
  HealthCheck,
  PARAMETERS_MAX,
  ParameterValues,
  SCRIPT_SERVICES,
  SentDeclaration,
} from '../model/health-check.ts'

const { id, name, description, services, owner } = HealthCheck.properties

const SERVED = { id, name, description, services, owner }
const Listed = closed({
  ...SERVED,
  builtin: Type.Boolean({
    description: 'Whether the check is part of Fulcrum: it can be used and read, but not changed or deleted.',
  }),
})
const Shown = closed({ ...HealthCheck.properties, builtin: Listed.properties.builtin })

/** Checked by a rule, because that has an error code of its own. */
const ParameterName = Type.String({ description: 'Becomes the flag --name=value: 1 to 64 letters and digits.' })

const parameters = Type.Array(closed({ ...SentDeclaration.properties, name: ParameterName }), {
  maxItems: PARAMETERS_MAX,
  description: 'Parameters of the script.',
})
const Body = closed({
  name,
  description,
  owner,
  script: Type.String({
    minLength: 1,
    description:
      'Text of the program, beginning with #!, up to 256 KiB; or the name of a file in the folder scripts of the state folder, whose text is stored. It is called with VIP VPORT RIP RPORT --name=value…; exit status 0 means up.',
  }),
  services,
  parameters: Type.Optional(
    Type.Union([parameters, Type.Null()], {
      description:
        'Parameters of the script. Omitted on create, or null: read from lines # @param {"name":…} among the first 64 lines of the script.',
    }),
  ),
})
type Sent = Static<typeof Body>

const Tested = Type.Object({
  exitCode: Type.Integer({ description: 'Exit status of the script; 137 if it was killed because of the time limit.' }),
  durationMs: Type.Integer({ minimum: 0, description: 'Duration in milliseconds.' }),
  output: Type.String({ description: 'Output of the script, up to 16 KiB, without control characters.' }),
  up: Type.Boolean({ description: 'Whether the real server counts as up: the exit status is 0.' }),
})

function refuseBuiltIn(checkId: string): void {
  const check = builtInCheck(checkId)
  if (check === undefined) return
  throw new ApiError('IN_USE', `The health check ${check.name} is built in: create your own from its script`, {
    data: { usage: [{ resource: 'healthChecks', id: checkId, name: check.name, field: 'builtin' }] },
  })
}

/** Refuses the names of built-in checks. */
function nameProblems(wanted: string): void {
  const taken = builtInChecks().find((check) => check.name === wanted.toLowerCase())
  if (taken !== undefined) throw new ApiError('NAME_NOT_UNIQUE', `There is a built-in health check named ${taken.name}`)
}

/** Replaces the name of a script file by its text. */
async function withScript(ctx: ContextOf['read'], sent: Sent): Promise<Sent> {
  if (!isFileName(sent.script)) return sent
  refuseFields(sentCheckProblems(sent))
  const found = await ctx.scripts.find(sent.script)
  if ('script' in found) return { ...sent, script: found.script }
  refuseFields([problemIn('script', found.problem)])
  return sent
}

/**
 * Merges the sent fields into the stored ones; a new script that declares parameters replaces the stored parameters.
 */
function fieldsOf(sent: Sent, stored?: HealthCheck): Omit<HealthCheck, 'id'> {
  nameProblems(sent.name)
  const inScript = headersOf(sent.script).parameters
  const kept = sent.script !== stored?.script && inScript.length > 0 ? undefined : stored?.parameters
  const wanted = sent.parameters === undefined ? kept : sent.parameters
  refuseFields(sentCheckProblems({ ...sent, parameters: wanted ?? null }))
  const whose = sent.owner ?? stored?.owner
  const owned = whose === undefined ? {} : { owner: whose }
  const fields = { ...sent, ...owned, parameters: wanted?.map(declared) ?? [...inScript] }
  refuseFields(secretProblems(fields))
  return fields
}

/** Refuses a change of a check that backends of either layer, or orders, could no longer use. */
function refuseBreaking(ctx: ContextOf['stage'], check: HealthCheck): void {
  refuseFields([
    ...brokenBy(check, 'layer-4', ctx.section('l4Backends').list()),
    ...brokenBy(check, 'layer-7', ctx.section('l7Backends').list()),
    ...brokenOrders(check, ctx.section('acmeOrders').list()),
  ])
}

const all = (ctx: ContextOf['read']): readonly Static<typeof Shown>[] => [
  ...builtInChecks().map((check) => ({ ...check, builtin: true })),
  ...ctx
    .section('healthChecks')
    .list()
    .map((check) => ({ ...check, builtin: false })),
]

/** Sorts built-in checks first, in their own order. */
const placeOf = ({ id: checkId }: { readonly id: string }): string => {
  const builtIn = builtInChecks().findIndex((check) => check.id === checkId)
  return builtIn < 0 ? `~${checkId}` : String(builtIn).padStart(4, '0')
}

function valuesProblems(check: HealthCheck, values: Readonly<Record<string, string>>): readonly FieldProblem[] {
  // A trial accepts no secrets.
  const secret = check.parameters.find(
    ({ name: declaredName, type }) => type === 'secret' && Object.hasOwn(values, declaredName),
  )
  if (secret !== undefined)
    return [problemIn(`parameters.${secret.name}`, 'is a secret: certificate orders contain it')]
  return valueProblems(check, values).map((problem) => problemIn(`parameters.${problem.name}`, problem.message))
}

export const healthChecks = [
  endpoint({
    name: 'healthChecks.list',
    method: 'GET',
    path: '/healthchecks',
    effect: 'read',
    summary: 'List health checks, built-in ones first',
    message: 'Health checks',
    data: Type.Array(Listed),
    list: { searched: ['name'], key: placeOf },
    handle: (ctx) => all(ctx).map(({ script: _script, parameters: _parameters, ...listed }) => listed),
  }),
  endpoint({
    name: 'healthChecks.create',
    method: 'POST',
    path: '/healthchecks',
    effect: 'stage',
    status: 201,
    refuses: ['INVALID_NAME', 'PARAMETER_CONFLICT'],
    summary: 'Create a health check from a script',
    message: 'Health check stored',
    body: Body,
    rules: sentCheckProblems,
    data: CreatedId,
    prepare: (ctx, { body }) => withScript(ctx, body),
    handle: (ctx, _, sent) => {
      const checkId = newId()
      ctx.section('healthChecks').create({ id: checkId, ...fieldsOf(sent) })
      return { id: checkId }
    },
  }),
  endpoint({
    name: 'healthChecks.listOfService',
    method: 'GET',
    path: '/healthchecks/service/{service}',
    effect: 'read',
    summary: 'List the health checks that layer-4 or layer-7 backends, or orders by dns-01, can use',
    message: 'Health checks of {service}',
    data: Type.Array(closed(SERVED)),
    list: { searched: ['name'], key: placeOf },
    handle: (ctx, { params }) => {
      const service = SCRIPT_SERVICES.find((known) => known === params.service)
      if (service === undefined) {
        throw new ApiError(
          'NOT_FOUND',
          `There is no service ${params.service}: health checks serve ${SCRIPT_SERVICES.join(', ')}`,
        )
      }
      return all(ctx)
        .filter((check) => check.services.includes(service))
        .map((check) => ({ id: check.id, name: check.name, description: check.description, services: check.services }))
    },
  }),
  endpoint({
    name: 'healthChecks.get',
    method: 'GET',
    path: '/healthchecks/{id}',
    effect: 'read',
    summary: 'Read a health check with its script and parameters',
    message: 'Health check',
    data: Type.Array(Shown, { description: 'One health check.' }),
    handle: (ctx, { params }) => {
      const builtIn = builtInCheck(params.id)
      if (builtIn !== undefined) return [{ ...builtIn, builtin: true }]
      return [{ ...ctx.section('healthChecks').get(params.id), builtin: false }]
    },
  }),
  endpoint({
    name: 'healthChecks.update',
    method: 'PUT',
    path: '/healthchecks/{id}',
    effect: 'stage',
    refuses: ['INVALID_NAME', 'PARAMETER_CONFLICT', 'IN_USE'],
    summary:
      'Change a health check; omitted parameters stay, unless another script declares its own; refused if a backend that uses it would no longer fit',
    message: 'Health check stored',
    body: Body,
    whenNull: { owner: '' },
    rules: sentCheckProblems,
    data: Type.Object({ id: Id }),
    prepare: (ctx, { body }) => withScript(ctx, body),
    handle: (ctx, { params }, sent) => {
      refuseBuiltIn(params.id)
      const stored = ctx.section('healthChecks').get(params.id)
      const check = { id: params.id, ...fieldsOf(sent, stored) }
      refuseBreaking(ctx, check)
      ctx.section('healthChecks').put(check)
      return { id: params.id }
    },
  }),
  endpoint({
    name: 'healthChecks.delete',
    method: 'DELETE',
    path: '/healthchecks/{id}',
    effect: 'stage',
    summary: 'Delete a health check that no backend uses',
    message: 'Health check {id} will be deleted with apply',
    handle: (ctx, { params }) => {
      refuseBuiltIn(params.id)
      ctx.section('healthChecks').remove(params.id)
    },
  }),
  endpoint({
    name: 'healthChecks.test',
    method: 'POST',
    path: '/healthchecks/{id}/test',
    effect: 'act',
    extension: true,
    refuses: ['NOT_SUPPORTED'],
    summary: 'Run a stored health check once against an address and return its output; limited to ten seconds',
    message: 'Health check tested',
    atOnce: { what: 'trials of health checks', all_max: 8, each_max: 2 },
    body: closed({ ip: Ip, port: Port, parameters: Type.Optional(ParameterValues) }),
    data: Tested,
    handle: (ctx, { params, body }) => {
      const checks = ctx.section('healthChecks')
      const check = checkFrom((own) => checks.find(own))(params.id) ?? checks.get(params.id)
      const values = body.parameters ?? {}
      refuseFields(valuesProblems(check, values))
      return ctx.machine.tryCheck({ script: check.script, ip: body.ip, port: body.port, flags: flagsOf(check, values) })
    },
  }),
]
