import { type Static, Type } from 'typebox'
import type { Applied as AppliedNow, ApplyOptions, Pending } from '../api/context.ts'
import { endpoint, NoData } from '../api/endpoint.ts'
import { Reply } from '../api/reply.ts'
import { closed } from '../model/fields.ts'

const text = (description: string) => Type.String({ description })

const ServiceEntry = Type.Object({
  name: text('Name for the paths of this API.'),
  fullName: text('Name for people.'),
  canReload: Type.Boolean({ description: 'Takes a new configuration without stopping.' }),
  canUpdate: Type.Boolean({ description: 'Its package can be updated from here.' }),
})

const Shown = Type.Unsafe<Readonly<Record<string, unknown>> | null>({
  type: ['object', 'null'],
  description: 'The record; for an update only its changed fields. Secrets read `**`.',
})

const Change = Type.Object({
  id: text('Id of the change, for DELETE /services/pending/{changeId}.'),
  op: Type.Enum(['create', 'update', 'delete'], { description: 'What apply will do.' }),
  resource: text('Section of the configuration.'),
  resourceId: text('Id of the record.'),
  name: text('Name of the record.'),
  by: text('E-mail of who changed it last.'),
  at: text('When, ISO 8601.'),
  before: Shown,
  after: Shown,
  effect: text('Cost of the change: runtime, reload, restart or network.'),
  services: Type.Array(text('Service.'), { description: 'Services that apply will touch.' }),
})

const PendingData = Type.Object({
  revision: Type.Integer({ description: 'Revision that is running.' }),
  count: Type.Integer({ description: 'Number of pending changes.' }),
  changes: Type.Array(Change, { description: 'The changes, oldest first.' }),
  files: Type.Optional(
    Type.Array(Type.Object({ path: text('File.'), diff: text('Unified diff against the running file.') }), {
      description: 'Generated files that would change (with render=true).',
    }),
  ),
  steps: Type.Optional(
    Type.Array(Type.Object({ kind: text('Kind of step.'), why: text('What it is for.') }), {
      description: 'What apply would do, in order (with render=true).',
    }),
  ),
})

const Applied = Type.Object({
  applyId: text('Id of this apply.'),
  revision: Type.Integer({ description: 'Revision that runs now.' }),
  confirmBy: Type.Union([Type.String(), Type.Null()], {
    description: 'ISO 8601: taken back unless confirmed until then; null when no confirmation is needed.',
  }),
  warnings: Type.Array(text('Sentence.'), { description: 'What should be known although nothing failed.' }),
  nodes: Type.Array(Type.Object({ nodeId: text('Node.'), ok: Type.Boolean({ description: 'Whether it applied.' }) }), {
    description: 'Result of every node.',
  }),
})

const APPLY_QUERY = closed({
  force: Type.Optional(
    Type.Enum(['restart'], { description: 'Restart the affected services instead of the cheapest way.' }),
  ),
})
const APPLY_BODY = closed({
  confirmWithin: Type.Optional(
    Type.Integer({
      minimum: 5,
      maximum: 86_400,
      description:
        'Seconds, 5 to 86,400. Unless PUT /services/apply/confirm comes in this time, the apply is taken back; a start of the machine takes it back at once.',
    }),
  ),
  force: Type.Optional(
    Type.Boolean({ description: 'Apply also what could cut the caller off, without confirmWithin. Default false.' }),
  ),
  comment: Type.Optional(
    Type.String({ maxLength: 1000, description: 'Kept with the revision; at most 1000 characters.' }),
  ),
})

/** The specification answers an empty array; with a body the extension answers what was applied (decisions.md §6). */
const APPLY_DATA = Type.Unsafe<readonly [] | Static<typeof Applied>>({
  anyOf: [NoData, Applied],
  description: 'An empty array; with a body, what was applied.',
})

interface Applying {
  readonly nodeId: string
  apply(options: ApplyOptions): Promise<AppliedNow>
}
interface ApplyRequest {
  readonly query: { readonly force?: 'restart' }
  readonly body: { readonly comment?: string; readonly confirmWithin?: number; readonly force?: boolean }
}

async function applyAll(ctx: Applying, { query, body }: ApplyRequest) {
  const { comment, confirmWithin, force } = body
  const applied = await ctx.apply({ force: query.force, comment, confirmWithin, isForced: force })
  const { applyId, revision, confirmBy = null, isDryRun } = applied
  const nodes = [{ nodeId: ctx.nodeId, ok: true }]
  const isAsked = Object.keys(body).length > 0
  const data = isAsked ? { applyId, revision, confirmBy, warnings: [...applied.warnings], nodes } : ([] as const)
  return isDryRun
    ? dryRun(data, 'Applied; what would change this machine itself was only recorded (trial profile)')
    : data
}

/** Says in a header that the profile keeps hands off the machine. */
function dryRun<T>(data: T, message: string): Reply<T> {
  return Reply.with(data, { message, headers: { 'X-Dry-Run': 'true' } })
}

function operated(service: string, verb: string, { isDryRun }: { readonly isDryRun: boolean }): Reply<never[]> {
  if (!isDryRun) return Reply.with([], {})
  return dryRun([], `Recorded only: the trial profile does not ${verb} ${service} on this machine`)
}

const VERBS = [
  { verb: 'reload', staged: false, done: 'reloaded' },
  { verb: 'restart', staged: false, done: 'restarted' },
  { verb: 'update', staged: true, done: 'updated' },
] as const

const operations = VERBS.flatMap(({ verb, staged, done }) => [
  endpoint({
    name: `services.${verb}`,
    method: 'PUT',
    path: `/services/{service}/${verb}`,
    effect: 'act',
    staged,
    summary: `The service is ${done} on every node`,
    message: `Service {service} ${done} on every node`,
    data: NoData,
    handle: async (ctx, { params }) => operated(params.service, verb, await ctx.operate(params.service, verb)),
  }),
  endpoint({
    name: `services.${verb}OnNode`,
    method: 'PUT',
    path: `/{applianceId}/services/{service}/${verb}`,
    effect: 'act',
    staged,
    summary: `The service is ${done} on one node`,
    message: `Service {service} ${done} on one node`,
    data: NoData,
    handle: async (ctx, { params }) => operated(params.service, verb, await ctx.operate(params.service, verb)),
  }),
])

export const services = [
  endpoint({
    name: 'services.list',
    method: 'GET',
    path: '/services',
    effect: 'read',
    staged: false,
    summary: 'List the services this daemon manages',
    message: 'Services',
    data: Type.Array(ServiceEntry),
    handle: (ctx) => [...ctx.units.list()],
  }),
  endpoint({
    name: 'services.apply',
    method: 'PUT',
    path: '/services/apply',
    effect: 'apply',
    staged: false,
    summary: 'Apply every pending change on every node, by the cheapest safe action',
    message: 'Changes applied',
    query: APPLY_QUERY,
    body: APPLY_BODY,
    data: APPLY_DATA,
    handle: applyAll,
  }),
  endpoint({
    name: 'services.applyOnNode',
    method: 'PUT',
    path: '/{applianceId}/services/apply',
    effect: 'apply',
    staged: false,
    summary: 'Apply every pending change on one node',
    message: 'Changes applied on one node',
    query: APPLY_QUERY,
    body: APPLY_BODY,
    data: APPLY_DATA,
    handle: applyAll,
  }),
  endpoint({
    name: 'services.confirm',
    method: 'PUT',
    path: '/services/apply/confirm',
    effect: 'apply',
    staged: false,
    extension: true,
    summary: 'Keep the last apply, which waits for its confirmation',
    message: 'Revision {revision} is kept',
    data: Type.Object({ revision: Type.Integer({ description: 'The revision that was confirmed.' }) }),
    handle: async (ctx) => ({ revision: (await ctx.confirm()).revision }),
  }),
  ...operations,
  endpoint({
    name: 'services.pending',
    method: 'GET',
    path: '/services/pending',
    effect: 'read',
    staged: false,
    extension: true,
    summary: 'Review what apply would change',
    message: 'Pending changes',
    query: closed({
      render: Type.Optional(
        Type.Enum(['true', 'false'], { description: 'Adds the diff of generated files and the steps.' }),
      ),
    }),
    data: PendingData,
    handle: async (ctx, { query }) => {
      if (query.render !== 'true') return listed(await ctx.pending.list())
      const preview = await ctx.pending.preview()
      return { ...listed(preview), files: [...preview.files], steps: [...preview.steps] }
    },
  }),
  endpoint({
    name: 'services.discardAll',
    method: 'DELETE',
    path: '/services/pending',
    effect: 'stage',
    staged: true,
    extension: true,
    summary: 'Take every pending change back',
    message: 'Pending changes discarded',
    handle: (ctx) => ctx.discard(undefined),
  }),
  endpoint({
    name: 'services.discard',
    method: 'DELETE',
    path: '/services/pending/{changeId}',
    effect: 'stage',
    staged: true,
    extension: true,
    summary: 'Take one pending change back, unless other pending changes need it',
    message: 'Pending change {changeId} discarded',
    handle: (ctx, { params }) => ctx.discard(params.changeId),
  }),
  endpoint({
    name: 'services.validate',
    method: 'POST',
    path: '/services/validate',
    effect: 'read',
    staged: false,
    extension: true,
    summary: 'Check the pending changes as apply would, with the programs’ own checkers; touches nothing',
    message: 'The pending changes are valid',
    data: PendingData,
    handle: async (ctx) => listed(await ctx.pending.validate()),
  }),
]

function listed({ revision, changes }: Pending) {
  const mutable = changes.map((change) => ({ ...change, services: [...change.services] }))
  return { revision, count: changes.length, changes: mutable }
}
