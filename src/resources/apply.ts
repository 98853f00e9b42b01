import { type Static, Type } from 'typebox'
import type { Applied as AppliedNow, ApplyOptions } from '../api/applying.ts'
import { endpoint, NoData } from '../api/endpoint.ts'
import { refuseFields } from '../api/refuse.ts'
import { dryRun } from '../api/reply.ts'
import { ApiError } from '../errors.ts'
import { closed } from '../model/fields.ts'

const text = (description: string) => Type.String({ description })

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
  changes: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 64, description: 'Id, see GET /services/pending.' }), {
      minItems: 1,
      maxItems: 10_000,
      description: 'Only these pending changes go live; 409 DEPENDS_ON_PENDING names what they need beside.',
    }),
  ),
  mine: Type.Optional(
    Type.Boolean({ description: 'Only the pending changes that the caller has made last go live. Default false.' }),
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
  may(endpoint: string): boolean
  apply(options: ApplyOptions): Promise<AppliedNow>
}
interface ApplyRequest {
  readonly query: { readonly force?: 'restart' }
  readonly body: Static<typeof APPLY_BODY>
}

function refuseWrong(ctx: Applying, { query, body }: ApplyRequest): void {
  if (body.changes !== undefined && body.mine === true) {
    refuseFields([{ field: 'mine', code: 'INVALID_BODY', message: 'excludes changes: send one of them' }])
  }
  if (query.force === undefined || ctx.may('services.restart') || ctx.may('services.restartOnNode')) return
  const message = 'force=restart takes the right to PUT /services/{service}/restart as well; apply without it'
  throw new ApiError('PERMISSION_DENIED', message)
}

async function applyChosen(ctx: Applying, request: ApplyRequest) {
  refuseWrong(ctx, request)
  const { query, body } = request
  const { comment, confirmWithin, force, changes, mine } = body
  const applied = await ctx.apply({ force: query.force, comment, confirmWithin, isForced: force, changes, mine })
  const { applyId, revision, confirmBy = null, isDryRun } = applied
  const nodes = [{ nodeId: ctx.nodeId, ok: true }]
  const isAsked = Object.keys(body).length > 0
  const data = isAsked ? { applyId, revision, confirmBy, warnings: [...applied.warnings], nodes } : ([] as const)
  return isDryRun
    ? dryRun(data, 'Applied; what would change this machine itself was only recorded (trial profile)')
    : data
}

export const apply = [
  endpoint({
    name: 'services.apply',
    method: 'PUT',
    path: '/services/apply',
    effect: 'apply',
    staged: false,
    summary:
      'Apply the pending changes on every node, by the cheapest safe action; of each the caller needs the right that staging it takes',
    message: 'Changes applied',
    query: APPLY_QUERY,
    body: APPLY_BODY,
    data: APPLY_DATA,
    handle: applyChosen,
  }),
  endpoint({
    name: 'services.applyOnNode',
    method: 'PUT',
    path: '/{applianceId}/services/apply',
    effect: 'apply',
    staged: false,
    summary: 'Apply the pending changes on one node',
    message: 'Changes applied on one node',
    query: APPLY_QUERY,
    body: APPLY_BODY,
    data: APPLY_DATA,
    handle: applyChosen,
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
]
