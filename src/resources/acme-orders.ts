import { type Static, Type } from 'typebox'
import { endpoint, NoData } from '../api/endpoint.ts'
import { type FieldProblem, problemIn, refuseFields } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { MASK, unstored } from '../base/mask.ts'
import type { ContextOf } from '../context/context.ts'
import { dnsProblems } from '../health-checks/dns-script.ts'
import { AcmeOrder } from '../model/acme.ts'
import { closed, Id, MomentOrNull } from '../model/fields.ts'
import type { ConfigView } from '../model/sections.ts'
import { isNameServer, nextTry_ms, progressOf, renewalOf_ms } from '../rules/acme.ts'

const { id, name, accountId, names, challenge, keyType, certificateId, dns, secrets } = AcmeOrder.properties

/** Defaults of an order. */
const USUAL = { challenge: 'http-01', keyType: 'ec256' } as const

const Create = closed({
  name,
  accountId,
  names,
  challenge: Type.Optional({ ...challenge, default: USUAL.challenge }),
  keyType: Type.Optional({ ...keyType, default: USUAL.keyType }),
  dns,
  secrets,
  certificateId: Type.Optional({
    ...certificateId,
    description:
      'Certificate that the issued one replaces. If omitted, a new self-signed certificate with the name of the order is created, which frontends can use immediately.',
  }),
})

const Update = closed({ name: Type.Optional(name), dns, secrets })

const Shown = Type.Object(
  {
    id,
    name,
    accountId,
    names,
    challenge,
    keyType,
    certificateId,
    dns,
    secrets: Type.Optional(
      Type.Record(Type.String(), Type.Literal(MASK), { description: 'Names of the secrets that the script receives.' }),
    ),
    leftRecords: Type.Array(Type.String(), {
      description: 'Names of DNS records that the script still has to remove; retried at growing intervals.',
    }),
    state: Type.Enum(['pending', 'waiting', 'underway', 'valid', 'failing'], {
      description:
        'pending: not applied yet; waiting: not started yet; underway: in progress at the CA; valid: the certificate was issued; failing: the last attempt failed, and another will follow.',
    }),
    failures: Type.Integer({ minimum: 0, description: 'Consecutive failed attempts.' }),
    lastError: Type.Union([Type.String(), Type.Null()], {
      description: 'Why the last attempt failed; null unless it did.',
    }),
    nextTry: MomentOrNull('Time of the next attempt, ISO 8601; null if that is now, or after the next apply.'),
    nextRenewal: MomentOrNull(
      'Time of the next renewal, at two thirds of the lifetime of the certificate, ISO 8601; null before the first issuance.',
    ),
    issuedAt: MomentOrNull('When the certificate was issued, ISO 8601; null before the first issuance.'),
  },
  { description: 'A certificate that is obtained from a CA and renewed.' },
)

const iso = (ms: number) => new Date(ms).toISOString()

/** Returns the order without its secrets. */
function orderedOf(order: AcmeOrder) {
  const { progress: _, secrets: given, ...rest } = order
  if (given === undefined) return rest
  return { ...rest, secrets: Object.fromEntries(Object.keys(given).map((key) => [key, MASK] as const)) }
}

function shown(ctx: ContextOf['read'], order: AcmeOrder): Static<typeof Shown> {
  const fields = { ...orderedOf(order), leftRecords: [] }
  const nothing = { failures: 0, lastError: null, nextTry: null, nextRenewal: null, issuedAt: null }
  const running = ctx.running.get('acmeOrders', order.id)
  const account = ctx.running.get('acmeAccounts', order.accountId)
  const certificate = running && ctx.running.get('certificates', running.certificateId)
  if (running === undefined || account === undefined || certificate === undefined)
    return { ...fields, state: 'pending', ...nothing }
  const progress = progressOf(running, account)
  const { failures = 0, lastError = null, orderUrl, issued, issuedAt_ms } = progress
  const next_ms = nextTry_ms(progress, certificate, Date.now())
  return {
    ...fields,
    leftRecords: [...new Set(progress.leftovers?.map((record) => record.name))],
    state: failures > 0 ? 'failing' : orderUrl !== undefined ? 'underway' : issued === undefined ? 'waiting' : 'valid',
    failures,
    lastError,
    nextTry: next_ms === 0 ? null : iso(next_ms),
    nextRenewal: issued === undefined ? null : iso(renewalOf_ms(certificate)),
    issuedAt: issuedAt_ms === undefined ? null : iso(issuedAt_ms),
  }
}

/** A secret that is sent masked, as it was read, keeps its stored value. */
function keptSecrets(
  sent: Readonly<Record<string, string>>,
  stored: Readonly<Record<string, string>>,
): Record<string, string> {
  const given = Object.entries(sent).map(([key, value]) => [key, value === MASK ? (stored[key] ?? '') : value] as const)
  refuseFields(given.filter(([, value]) => value === '').map(([key]) => unstored(`secrets.${key}`)))
  return Object.fromEntries(given)
}

function dnsProblemsOf(ctx: ContextOf['stage'], order: AcmeOrder): readonly FieldProblem[] {
  const bad = (order.dns?.nameServers ?? []).flatMap((server, at) =>
    isNameServer(server) ? [] : [problemIn(`dns.nameServers.${at}`, 'must be an address, optionally with a port')],
  )
  return [...bad, ...dnsProblems(order, (script) => ctx.section('healthChecks').find(script))]
}

/** Returns what conflicts with other orders, and why the CA would get no answer. */
function problemsOf(ctx: ContextOf['stage'], order: AcmeOrder): readonly FieldProblem[] {
  const account = ctx.section('acmeAccounts').find(order.accountId)
  const view: ConfigView = {
    get: (section, key) => ctx.section(section).find(key),
    list: (section) => ctx.section(section).list(),
  }
  const others = ctx.section('acmeOrders').list()
  const rival = others.find((other) => other.certificateId === order.certificateId)
  const unanswered = account && ctx.acme.whyUnanswered(view, account, order)
  const taken = order.names.flatMap((wanted, at) => {
    const other = account && others.find((one) => one.accountId !== order.accountId && one.names.includes(wanted))
    if (other === undefined) return []
    return [
      problemIn(
        `names.${at}`,
        `is in the order ${other.name} of another account: only one account can answer for a name`,
      ),
    ]
  })
  const wildcards = order.names.flatMap((wanted, at) =>
    order.challenge === 'dns-01' || !wanted.startsWith('*')
      ? []
      : [
          problemIn(
            `names.${at}`,
            `is a wildcard, which CAs issue with dns-01 only, but the challenge of this order is ${order.challenge}`,
          ),
        ],
  )
  return [
    ...wildcards,
    ...dnsProblemsOf(ctx, order),
    ...taken,
    ...(rival === undefined ? [] : [problemIn('certificateId', `is already replaced by the order ${rival.name}`)]),
    ...(unanswered === undefined ? [] : [problemIn('challenge', `${order.challenge} ${unanswered}`)]),
  ]
}

export const acmeOrders = [
  endpoint({
    name: 'acmeOrders.list',
    method: 'GET',
    path: '/certificates/acme/orders',
    effect: 'read',
    extension: true,
    summary: 'List certificate orders with their progress',
    message: 'ACME orders',
    list: { searched: ['name', 'names'] },
    data: Type.Array(Shown),
    handle: (ctx) =>
      ctx
        .section('acmeOrders')
        .list()
        .map((order) => shown(ctx, order)),
  }),
  endpoint({
    name: 'acmeOrders.create',
    method: 'POST',
    path: '/certificates/acme/orders',
    effect: 'stage',
    extension: true,
    status: 201,
    summary:
      'Order a certificate from a CA; from the next apply on it is obtained, and renewed at two thirds of its lifetime',
    message: 'ACME order stored',
    body: Create,
    data: Type.Object({ id: Id, certificateId }),
    prepare: async (ctx, { body }) =>
      body.certificateId === undefined ? ctx.certificates.placeholder(body.names) : undefined,
    handle: (ctx, { body }, placeholder) => {
      const order: AcmeOrder = {
        ...USUAL,
        certificateId: newId(),
        ...body,
        id: newId(),
      }
      refuseFields(problemsOf(ctx, order))
      if (placeholder !== undefined)
        ctx.section('certificates').create({ id: order.certificateId, name: order.name, ...placeholder })
      ctx.section('acmeOrders').create(order)
      return { id: order.id, certificateId: order.certificateId }
    },
  }),
  endpoint({
    name: 'acmeOrders.get',
    method: 'GET',
    path: '/certificates/acme/orders/{id}',
    effect: 'read',
    extension: true,
    summary: 'Read a certificate order: progress, last error, next attempt and next renewal',
    message: 'ACME order',
    data: Shown,
    handle: (ctx, { params }) => shown(ctx, ctx.section('acmeOrders').get(params.id)),
  }),
  endpoint({
    name: 'acmeOrders.update',
    method: 'PUT',
    path: '/certificates/acme/orders/{id}',
    effect: 'stage',
    extension: true,
    refuses: ['PASSWORD_NOT_STORED'],
    summary: 'Change the name of an order, or how its dns-01 records are made; the ordered names cannot change',
    message: 'ACME order stored',
    body: Update,
    data: NoData,
    handle: (ctx, { params, body }) => {
      const stored = ctx.section('acmeOrders').get(params.id)
      const given = body.secrets === undefined ? undefined : keptSecrets(body.secrets, stored.secrets ?? {})
      const patch = { ...body, ...(given === undefined ? {} : { secrets: given }) }
      refuseFields(dnsProblemsOf(ctx, { ...stored, ...patch }))
      ctx.section('acmeOrders').merge(params.id, patch)
      return []
    },
  }),
  endpoint({
    name: 'acmeOrders.delete',
    method: 'DELETE',
    path: '/certificates/acme/orders/{id}',
    effect: 'stage',
    extension: true,
    summary: 'Delete an order: its certificate stays, but is no longer renewed',
    message: 'ACME order {id} will be deleted with apply',
    data: NoData,
    handle: (ctx, { params }) => {
      ctx.section('acmeOrders').remove(params.id)
      return []
    },
  }),
  endpoint({
    name: 'acmeOrders.renew',
    method: 'PUT',
    path: '/certificates/acme/orders/{id}/renew',
    effect: 'act',
    extension: true,
    managedOnly: true,
    summary: 'Renew a certificate now, regardless of earlier failures',
    message: 'The certificate is being renewed',
    data: NoData,
    handle: async (ctx, { params }) => {
      await ctx.acme.renew(params.id)
      return []
    },
  }),
]
