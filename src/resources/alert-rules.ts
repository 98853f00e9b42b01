import { type Static, Type } from 'typebox'
import { CreatedId, endpoint, NoData } from '../api/endpoint.ts'
import { ApiError, refuseFields } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import type { ContextOf } from '../context/context.ts'
import { AlertRule, RULES_MAX } from '../model/alerts.ts'
import { closed, optional } from '../model/fields.ts'
import { objectProblems, ruleProblems, stateProblems } from '../rules/alerts.ts'

const { id: _, name, when, ...fields } = AlertRule.properties

const DEFAULTS = {
  enabled: true,
  severity: 'warning',
  for: 30,
  clearFor: 60,
  repeatEvery: 14_400,
  resolve: true,
  targets: [],
} satisfies Omit<AlertRule, 'id' | 'name' | 'when'>

const Create = closed({ name, when, ...optional(fields) })
const Update = closed(optional({ name, when, ...fields }))

function checked(rule: AlertRule, ctx: ContextOf['stage'], stored?: AlertRule): AlertRule {
  const objects = objectProblems(rule.when, (section, id) => ctx.section(section).find(id), stored?.when.ids)
  refuseFields([...ruleProblems(rule), ...stateProblems(rule.when), ...objects])
  return rule
}

/** Drops undefined fields, which would overwrite stored values. */
const sentOf = (body: Static<typeof Update>): Partial<AlertRule> =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))

export const alertRules = [
  endpoint({
    name: 'alertRules.list',
    method: 'GET',
    path: '/alerts/rules',
    effect: 'read',
    extension: true,
    summary: 'List alert rules',
    message: 'Alert rules',
    list: { searched: ['name', 'when.type'] },
    data: Type.Array(AlertRule),
    handle: (ctx) => [...ctx.section('alertRules').list()],
  }),
  endpoint({
    name: 'alertRules.create',
    method: 'POST',
    path: '/alerts/rules',
    effect: 'stage',
    extension: true,
    status: 201,
    summary: 'Create an alert rule, effective from the next apply on',
    message: 'Alert rule stored',
    body: Create,
    refuses: ['LIMIT_REACHED'],
    whenNull: DEFAULTS,
    data: CreatedId,
    handle: (ctx, { body }) => {
      const rules = ctx.section('alertRules')
      if (rules.list().length >= RULES_MAX)
        throw new ApiError('LIMIT_REACHED', `There are already ${RULES_MAX} alert rules; delete one first`)
      const id = newId()
      rules.create(checked({ ...DEFAULTS, ...body, id }, ctx))
      return { id }
    },
  }),
  endpoint({
    name: 'alertRules.get',
    method: 'GET',
    path: '/alerts/rules/{id}',
    effect: 'read',
    extension: true,
    summary: 'Read an alert rule',
    message: 'Alert rule',
    data: AlertRule,
    handle: (ctx, { params }) => ctx.section('alertRules').get(params.id),
  }),
  endpoint({
    name: 'alertRules.update',
    method: 'PUT',
    path: '/alerts/rules/{id}',
    effect: 'stage',
    extension: true,
    summary: 'Change an alert rule; omitted fields keep their value, `when` is replaced as a whole',
    message: 'Alert rule stored',
    body: Update,
    whenNull: DEFAULTS,
    handle: (ctx, { params: { id }, body }) => {
      const rules = ctx.section('alertRules')
      const stored = rules.get(id)
      rules.put(checked({ ...stored, ...sentOf(body), id }, ctx, stored))
    },
  }),
  endpoint({
    name: 'alertRules.delete',
    method: 'DELETE',
    path: '/alerts/rules/{id}',
    effect: 'stage',
    extension: true,
    summary: 'Delete an alert rule; its alerts end with the apply, without a message',
    message: 'Alert rule {id} will be deleted with apply',
    data: NoData,
    handle: (ctx, { params }) => {
      ctx.section('alertRules').remove(params.id)
      return []
    },
  }),
]
