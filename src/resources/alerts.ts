import { Type } from 'typebox'
import { CreatedId, endpoint, nodeParameter, NoData } from '../api/endpoint.ts'
import { type FieldProblem, problemIn, refuseFields } from '../base/errors.ts'
import { Silence } from '../model/alerts.ts'
import { closed } from '../model/fields.ts'
import { OfNodes } from '../model/of-nodes.ts'
import { AlertShown, DeliveriesShown } from '../model/shown-alerts.ts'

const USUAL = 100
const SILENCE_S_MAX = 31 * 86_400

const { ruleId, objectId, objectName, reason } = Silence.properties

const SilenceBody = closed({
  ruleId: Type.Optional(ruleId),
  objectId: Type.Optional(objectId),
  objectName: Type.Optional(objectName),
  reason: { ...reason, minLength: 1 },
  for: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: SILENCE_S_MAX,
      description: `Duration in seconds, 60 to ${SILENCE_S_MAX}; excludes until.`,
    }),
  ),
  until: Type.Optional(
    Type.String({
      maxLength: 40,
      pattern: '^\\d{4}-\\d{2}-\\d{2}T[0-9:.]{5,15}Z$',
      description: 'End, ISO 8601 in UTC, at most 31 days ahead; excludes for.',
    }),
  ),
})

/** Returns the end in milliseconds, or the problem with the sent fields. */
function endOf(seconds: number | undefined, until: string | undefined, now_ms: number): number | FieldProblem {
  if ((seconds === undefined) === (until === undefined))
    return problemIn('for', seconds === undefined ? 'or until is required' : 'and until exclude each other')
  const end_ms = until === undefined ? now_ms + (seconds ?? 0) * 1_000 : Date.parse(until)
  if (end_ms > now_ms && end_ms <= now_ms + SILENCE_S_MAX * 1_000) return end_ms
  return problemIn('until', 'must be a time within the next 31 days')
}

export const alerts = [
  endpoint({
    name: 'alerts.list',
    method: 'GET',
    path: '/alerts',
    effect: 'read',
    extension: true,
    summary: 'List firing and recent alerts with the notified targets; newest first',
    message: 'Alerts',
    ofNodes: { time: 'since', limit: { parameter: 'limit', usual: USUAL } },
    beside: OfNodes,
    query: closed({
      node: nodeParameter,
      state: Type.Optional(
        Type.Enum(['firing', 'silenced', 'resolved'], { description: 'Only alerts in this state.' }),
      ),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 1_000,
          description: `Maximum number of alerts, 1 to 1000; default ${USUAL}.`,
        }),
      ),
    }),
    data: Type.Array(AlertShown),
    handle: (ctx, { query: { state, limit = USUAL } }) => [...ctx.alerts.list(state, limit)],
  }),
  endpoint({
    name: 'alerts.deliveries',
    method: 'GET',
    path: '/alerts/deliveries',
    effect: 'read',
    extension: true,
    summary: 'List pending and failed notifications of each target, with the last error',
    message: 'Deliveries of alerts',
    ofNodes: { time: 'at' },
    beside: OfNodes,
    query: closed({ node: nodeParameter }),
    data: Type.Array(DeliveriesShown),
    handle: (ctx) => [...ctx.alerts.deliveries()],
  }),
  endpoint({
    name: 'alertSilences.list',
    method: 'GET',
    path: '/alerts/silences',
    effect: 'read',
    extension: true,
    summary: 'List silences and their reasons',
    message: 'Silences',
    list: { searched: ['objectName', 'reason', 'by'], hasOwnOrder: true },
    data: Type.Array(Silence),
    handle: (ctx) => [...ctx.alerts.silences()],
  }),
  endpoint({
    name: 'alertSilences.create',
    method: 'POST',
    path: '/alerts/silences',
    effect: 'act',
    extension: true,
    status: 201,
    summary: 'Silence alerts for a while, on all nodes; alerts still firing afterwards are then sent',
    message: 'Silence has begun',
    body: SilenceBody,
    refuses: ['LIMIT_REACHED'],
    data: CreatedId,
    handle: async (ctx, { body }) => {
      const end = endOf(body.for, body.until, Date.now())
      const rule = body.ruleId ?? null
      refuseFields([
        ...(typeof end === 'number' ? [] : [end]),
        ...(rule === null || ctx.section('alertRules').find(rule) !== undefined
          ? []
          : [problemIn('ruleId', `there is no alert rule with id ${rule}`)]),
      ])
      const id = await ctx.alerts.silence({
        ruleId: rule,
        objectId: body.objectId ?? null,
        objectName: body.objectName ?? null,
        reason: body.reason,
        by: ctx.actor.email,
        endsAt: new Date(Number(end)).toISOString(),
      })
      return { id }
    },
  }),
  endpoint({
    name: 'alertSilences.delete',
    method: 'DELETE',
    path: '/alerts/silences/{id}',
    effect: 'act',
    extension: true,
    summary: 'End a silence before its time',
    message: 'Silence {id} has ended',
    data: NoData,
    handle: async (ctx, { params }) => {
      await ctx.alerts.endSilence(params.id)
      return []
    },
  }),
]
