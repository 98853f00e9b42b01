import { type Static, type TSchema, Type } from 'typebox'
import type { Applied as Outcome } from '../../context/applying.ts'
import type { ContextOf } from '../../context/context.ts'
import { endpoint, NoData } from '../../api/endpoint.ts'
import { ApiError, problemIn, refuseFields } from '../../base/errors.ts'
import { dryRun, Reply } from '../../api/reply.ts'
import { summarize } from '../../warnings/counted.ts'
import { closed, MomentOrNull, newIdOf, titled } from '../../model/fields.ts'
import { Warning } from '../../model/warning.ts'

const text = (description: string) => Type.String({ description })
const orNull = <T extends TSchema>(schema: T, description: string) => Type.Union([schema, Type.Null()], { description })

export const Applied = titled('Applied', {
  applyId: newIdOf('Id of this apply.'),
  revision: Type.Integer({ description: 'Running revision.' }),
  confirmBy: MomentOrNull('ISO 8601: reverted unless confirmed by then; null if no confirmation is needed.'),
  warnings: Type.Array(Warning, { description: 'Warnings of the apply.' }),
  nodes: Type.Array(
    Type.Object({
      nodeId: text('Node.'),
      ok: Type.Boolean({ description: 'Whether the node applied the changes.' }),
      state: Type.Optional(
        Type.Enum(['applied', 'missed', 'takenBack', 'failed', 'unknown'], {
          description: 'In a cluster; missed: the node was unreachable, and catches up when it is back.',
        }),
      ),
    }),
    { description: 'Result of every node.' },
  ),
})

const APPLY_QUERY = closed({
  force: Type.Optional(
    Type.Enum(['restart'], {
      description: 'restart: restart the affected services instead of the least disruptive action.',
    }),
  ),
})
/** Fields of every request that makes something live. */
export const applyTerms = {
  confirmWithin: Type.Optional(
    Type.Integer({
      minimum: 5,
      maximum: 86_400,
      description:
        'Seconds, 5 to 86,400. The apply is reverted unless PUT /services/apply/confirm is called within this time; a restart of the machine reverts it immediately.',
    }),
  ),
  force: Type.Optional(
    Type.Boolean({
      description: 'Also apply changes that could cut the caller off, without confirmWithin. Default false.',
    }),
  ),
  refuseWarnings: Type.Optional(
    Type.Boolean({
      description: 'Changes nothing if there are warnings: 409 WARNINGS lists them. Default false.',
    }),
  ),
  comment: Type.Optional(
    Type.String({ maxLength: 1000, description: 'Comment stored with the revision; at most 1000 characters.' }),
  ),
}
const APPLY_BODY = closed({
  ...applyTerms,
  changes: Type.Optional(
    Type.Array(
      Type.String({ minLength: 1, maxLength: 64, description: 'Id of a change, see GET /services/pending.' }),
      {
        minItems: 1,
        maxItems: 10_000,
        description: 'Only these pending changes go live; 409 DEPENDS_ON_PENDING names other changes that they need.',
      },
    ),
  ),
  mine: Type.Optional(
    Type.Boolean({
      description:
        'Only pending changes made by the caller alone go live; changes that others have also edited must be chosen by id. Default false.',
    }),
  ),
  transactionId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description:
        'Instead of pending changes, the edits of this open transaction of the caller go live, and the transaction ends; if refused, it stays open. 409 DEPENDS_ON_PENDING if one of its records has a pending change.',
    }),
  ),
})

/**
 * The specification answers with an empty array; for a request with a body the extension answers with what was applied
 * (decisions.md §6).
 */
const APPLY_DATA = Type.Unsafe<readonly [] | Static<typeof Applied>>({
  anyOf: [NoData, Applied],
  description: 'An empty array; with a body, the result of the apply.',
})

type Applying = ContextOf['apply']
interface ApplyRequest {
  readonly query: { readonly force?: 'restart' }
  readonly body: Static<typeof APPLY_BODY>
}

function refuseWrong(ctx: Applying, { query, body }: ApplyRequest): void {
  const { changes, mine, transactionId } = body
  const sent = Object.entries({ changes, mine: mine === true ? mine : undefined, transactionId })
    .filter(([, value]) => value !== undefined)
    .map(([field]) => field)
  const [first, ...others] = sent
  if (others.length > 0) {
    const message = `excludes ${first}: send only one of them`
    refuseFields(others.map((field) => problemIn(field, message)))
  }
  if (query.force === undefined || ctx.may('services.restart') || ctx.may('services.restartOnNode')) return
  const message = 'force=restart also needs the right to PUT /services/{service}/restart; apply without it'
  throw new ApiError('PERMISSION_DENIED', message)
}

const NOTHING_OF_ONES_OWN = 'Nothing was applied: no pending change is yours alone; GET /services/pending lists all'

/**
 * Refuses options that concern the whole cluster: an apply that waits for confirmation, and the edits of a transaction.
 */
function refuseOfAll({ confirmWithin, transactionId }: ApplyRequest['body']): void {
  const sent = Object.entries({ confirmWithin, transactionId }).filter(([, value]) => value !== undefined)
  const message = 'is only for PUT /services/apply, which applies on all nodes'
  if (sent.length > 0) refuseFields(sent.map(([field]) => problemIn(field, message)))
}

async function applyChosen(ctx: Applying, request: ApplyRequest, { onlyHere = false } = {}) {
  refuseWrong(ctx, request)
  if (onlyHere) refuseOfAll(request.body)
  const { query, body } = request
  const { force: isForced, ...chosen } = body
  const applied = await ctx.applying.apply({ ...chosen, force: query.force, isForced, onlyHere }, ctx)
  const told = answerApplied(ctx, applied)
  const { data = [] } = Object.keys(body).length > 0 ? told : Reply.with([] as const, {})
  const isNothing = body.mine === true && applied.live === undefined
  return isNothing ? Reply.with(data, { message: NOTHING_OF_ONES_OWN }) : Reply.with(data, told)
}

/** Returns the answer to an apply. */
export function answerApplied(ctx: Applying, applied: Outcome): Reply<Static<typeof Applied>> {
  ctx.work.noteLive(applied.live)
  const { applyId, revision, confirmBy = null, isDryRun } = applied
  const nodes = applied.nodes?.map(({ nodeId, ok, state }) => ({ nodeId, ok, state })) ?? [
    { nodeId: ctx.nodeId, ok: true },
  ]
  const remark = { code: 'REMARK', resource: '', resourceId: '', name: '' } as const
  const warnings = [...(applied.told ?? []), ...applied.warnings.map((message) => ({ ...remark, message }))]
  const data = { applyId, revision, confirmBy, warnings, nodes }
  const also = warnings.length === 0 ? '' : `; ${summarize(warnings)}`
  return isDryRun
    ? dryRun(data, `Applied; changes to this machine itself were only recorded (trial profile)${also}`)
    : Reply.with(data, also === '' ? {} : { message: `Changes applied${also}` })
}

const State = titled('ApplyState', {
  state: Type.Enum(['idle', 'applying', 'waiting'], {
    description:
      'waiting: the apply is live, and will be reverted unless PUT /services/apply/confirm is called in time.',
  }),
  revision: Type.Integer({ description: 'Running revision; while applying, the new one.' }),
  by: orNull(Type.String(), 'E-mail of the user who applied the revision; null if nothing was ever applied.'),
  comment: text('Comment of the apply.'),
  startedAt: MomentOrNull('ISO 8601; null if nothing was ever applied.'),
  confirmBy: MomentOrNull('ISO 8601; null unless the apply waits for confirmation.'),
  secondsLeft: orNull(
    Type.Integer(),
    'Whole seconds until the apply is reverted; null unless it waits. 0: it is being reverted, for which enough nodes must answer.',
  ),
  nodes: Type.Array(
    Type.Object({
      nodeId: text('Node.'),
      state: Type.Enum(['idle', 'applying', 'waiting', 'unknown'], {
        description: 'unknown: the node does not answer.',
      }),
      revision: orNull(Type.Integer(), 'Revision that runs on the node; null if it does not answer.'),
      outcome: Type.Enum(['applied', 'missed', 'unknown'], {
        description: 'Result of the last kept apply. missed: the node does not run it yet, but will catch up.',
      }),
    }),
    { description: 'State of every node, the answering one first.' },
  ),
})
const Kept = Type.Object({ revision: Type.Integer({ description: 'Confirmed revision.' }) })
const Reverted = Type.Object({ revision: Type.Integer({ description: 'New revision, which runs now.' }) })

/** Refusals that the edits of a transaction can also meet. */
const OF_TRANSACTION = ['REVISION_MISMATCH', 'IN_USE', 'NAME_NOT_UNIQUE', 'ID_NOT_UNIQUE'] as const

export const apply = [
  endpoint({
    name: 'services.applyState',
    method: 'GET',
    path: '/services/apply',
    effect: 'read',
    extension: true,
    summary: 'Read the state of the current or last apply, including the time left to confirm it',
    message: 'State of apply',
    data: State,
    handle: async (ctx) => {
      const nodes = [...(await ctx.applying.nodes())]
      const { state } = ctx.applying
      const message = `Revision ${state.revision} was not confirmed in time: each node reverts it on its machine, which is complete as soon as enough nodes answer`
      return Reply.with({ ...state, nodes }, state.secondsLeft === 0 ? { message } : {})
    },
  }),
  endpoint({
    name: 'services.apply',
    method: 'PUT',
    path: '/services/apply',
    effect: 'apply',
    transactionIn: 'body',
    refuses: ['DEPENDS_ON_PENDING', 'WARNINGS', ...OF_TRANSACTION],
    summary:
      'Apply the pending changes on every node, with the least disruptive action; for each of them the caller needs the right to stage it',
    about: 'Every program checks its new file before anything changes, and completed steps are undone if a step fails',
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
    refuses: ['DEPENDS_ON_PENDING', 'WARNINGS', ...OF_TRANSACTION],
    summary:
      'Apply the pending changes on one node only; they stay pending for the other nodes until the next apply on all',
    about: 'Every program checks its new file before anything changes, and completed steps are undone if a step fails',
    message: 'Changes applied on one node',
    query: APPLY_QUERY,
    body: APPLY_BODY,
    data: APPLY_DATA,
    handle: (ctx, request) => applyChosen(ctx, request, { onlyHere: ctx.cluster.hasOthers }),
  }),
  endpoint({
    name: 'services.confirm',
    method: 'PUT',
    path: '/services/apply/confirm',
    effect: 'apply',
    extension: true,
    summary: 'Confirm the last apply, so that it is kept',
    message: 'Revision {revision} is kept',
    data: Kept,
    handle: async (ctx) => ({ revision: (await ctx.applying.confirm(ctx)).revision }),
  }),
  endpoint({
    name: 'services.revertApply',
    method: 'PUT',
    path: '/services/apply/revert',
    effect: 'apply',
    extension: true,
    summary:
      'Revert the last apply while it waits for confirmation; its changes become pending again, and for each of them the caller needs the right to stage it',
    message: 'Reverted as revision {revision}; the changes are pending again',
    data: Reverted,
    handle: async (ctx) => {
      const live = await ctx.applying.revert(ctx)
      ctx.work.noteLive(live)
      return { revision: live.revision }
    },
  }),
]
