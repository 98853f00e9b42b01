import { Type } from 'typebox'
import { CreatedId, endpoint, NoData } from '../api/endpoint.ts'
import { accept, Reply } from '../api/reply.ts'
import { secondsOf } from '../base/durations.ts'
import { ApiError, refuseFields } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { closed, Id, Name, Owner, Port, Weight } from '../model/fields.ts'
import { Health, RealServer, RealServerState, Resolve, resolvedAt, ServerHost } from '../model/real-server.ts'
import { hostNameProblems, resolveProblems, servicePortProblems } from '../rules/host-names.ts'

/** decisions.md §2: required, but null, "" and 0 all mean multiple ports. */
const SentPort = Type.Union([Port, Type.Null(), Type.Enum(['', 0])], {
  description: 'Traffic port, 1 to 65535; null, "" or 0 for multiple ports (the port the client used).',
})
const storedPort = (port: number | string | null) => (typeof port === 'number' && port !== 0 ? port : null)

const DEFAULTS = { weight: 100, state: 'online' } as const

/** The meaning of a record without these fields. */
const LATER_DEFAULTS = { resolve: 'live', owner: '' } as const

/** Stores `resolve` for every real server with a host name, and for no other: it is dropped together with the name. */
function asStored({ resolve, ...real }: RealServer): RealServer {
  const at = resolvedAt({ ip: real.ip, resolve })
  return at === undefined ? real : { ...real, resolve: at }
}

/** A real server in answers, with the result of its health checks. */
const RealServerRead = Type.Object({ ...RealServer.properties, health: Health })

const Wait = Type.Refine(
  Type.String({
    maxLength: 16,
    description:
      'How long connections may take to end after the apply, such as 90, 90s or 5m: 1 second to 31 days. The answer is 202 and names the waiting job.',
  }),
  (text) => (secondsOf(text) ?? 0) >= 1 && (secondsOf(text) ?? 0) <= WAIT_MAX_S,
  () => 'must be a duration from 1s to 31d, such as 90s or 5m',
)
const WAIT_MAX_S = 31 * 86_400

const DrainQuery = closed({
  wait: Type.Optional(Wait),
  // oxlint-disable-next-line unicorn/no-thenable -- a parameter of the API
  then: Type.Optional(
    Type.Enum(['halt'], {
      description: 'With wait: halts the real server when its connections have ended, or the time is over.',
    }),
  ),
})

const drain = endpoint({
  name: 'realServers.drain',
  method: 'PUT',
  path: '/ipvsDirector/rips/{id}/drain',
  effect: 'stage',
  refuses: ['TRANSACTION_OPEN', 'JOB_IN_PROGRESS'],
  summary:
    'Stage a drain: the real server keeps its connections and gets no new clients; on Layer 7, clients bound to it by cookie or stick table still come back until it is halted; idempotent',
  message:
    'After apply, real server {id} keeps its connections and gets no new clients; on Layer 7, those bound to it by cookie or stick table still come back to it',
  query: DrainQuery,
  data: NoData,
  mayGoOn: true,
  handle: (ctx, { params, query }) => {
    const halt = query.then === 'halt'
    if (halt && query.wait === undefined) {
      throw new ApiError('INVALID_QUERY', 'then needs wait: how long the connections may take to end', {
        errors: [{ field: 'then', code: 'INVALID_QUERY', message: 'needs wait' }],
      })
    }
    if (query.wait !== undefined) ctx.transactions.refuseOpen()
    const real = ctx.section('realServers').get(params.id)
    const touched = { section: 'realServers', before: real, after: real }
    if (halt && !(ctx.may('realServers.halt', touched) && ctx.may('services.apply'))) {
      throw new ApiError('PERMISSION_DENIED', 'then=halt needs the rights to halt a real server and to apply')
    }
    ctx.section('realServers').merge(params.id, { state: 'drained' })
    if (query.wait === undefined) return []
    const wanted = { ripId: params.id, wait_s: secondsOf(query.wait) ?? 1, halt }
    const { job, start } = ctx.drains.prepare(wanted, ctx.actor)
    ctx.work.afterwards(start)
    return accept(job, [])
  },
})

const MOVES = [
  { verb: 'halt', state: 'halted', says: 'is removed from all backends' },
  { verb: 'online', state: 'online', says: 'receives traffic again' },
] as const

const moves = MOVES.map(({ verb, state, says }) =>
  endpoint({
    name: `realServers.${verb}`,
    method: 'PUT',
    path: `/ipvsDirector/rips/{id}/${verb}`,
    effect: 'stage',
    summary: `Stage that a real server ${says}; idempotent`,
    message: `After apply, real server {id} ${says}`,
    data: NoData,
    handle: (ctx, { params }) => {
      ctx.section('realServers').merge(params.id, { state })
      return []
    },
  }),
)

export const realServers = [
  endpoint({
    name: 'realServers.list',
    method: 'GET',
    path: '/ipvsDirector/rips',
    effect: 'read',
    summary: 'List real servers',
    message: 'Real servers',
    data: Type.Array(RealServerRead),
    list: { searched: ['name', 'ip'] },
    handle: (ctx) =>
      Reply.each(ctx.section('realServers').list(), (real) => ({ ...real, health: ctx.health.ofReal(real.id) })),
  }),
  endpoint({
    name: 'realServers.create',
    method: 'POST',
    path: '/ipvsDirector/rips',
    effect: 'stage',
    status: 201,
    summary: 'Create a real server',
    message: 'Real server stored',
    body: closed({
      name: Name,
      ip: ServerHost,
      resolve: Type.Optional(Resolve),
      port: SentPort,
      weight: Type.Optional(Weight),
      state: Type.Optional(RealServerState),
      owner: Owner,
    }),
    data: CreatedId,
    handle: (ctx, { body }) => {
      const id = newId()
      const real = { ...DEFAULTS, ...body, id, port: storedPort(body.port) }
      refuseFields([...resolveProblems(body), ...servicePortProblems(real)])
      ctx.section('realServers').create(asStored(real))
      return { id }
    },
  }),
  endpoint({
    name: 'realServers.hanging',
    method: 'GET',
    path: '/ipvsDirector/rips/hanging',
    effect: 'read',
    summary: 'Ids of real servers with pending changes',
    message: 'Real servers with pending changes',
    data: Type.Array(Id),
    handle: (ctx) => [...ctx.pending.changedIds('realServers')],
  }),
  endpoint({
    name: 'realServers.get',
    method: 'GET',
    path: '/ipvsDirector/rips/{id}',
    effect: 'read',
    summary: 'Read a real server',
    message: 'Real server',
    data: RealServerRead,
    handle: (ctx, { params }) => {
      const real = ctx.section('realServers').get(params.id)
      return { ...real, health: ctx.health.ofReal(real.id) }
    },
  }),
  endpoint({
    name: 'realServers.update',
    method: 'PUT',
    path: '/ipvsDirector/rips/{id}',
    effect: 'stage',
    summary: 'Change a real server; omitted fields keep their value',
    message: 'Real server stored',
    body: closed({
      port: SentPort,
      name: Type.Optional(Name),
      ip: Type.Optional(ServerHost),
      resolve: Type.Optional(Resolve),
      weight: Type.Optional(Weight),
      state: Type.Optional(RealServerState),
      owner: Owner,
    }),
    whenNull: { ...DEFAULTS, ...LATER_DEFAULTS },
    data: NoData,
    handle: (ctx, { params, body }) => {
      const reals = ctx.section('realServers')
      const real = asStored({ ...reals.get(params.id), ...body, port: storedPort(body.port) })
      refuseFields([
        ...resolveProblems({ ip: real.ip, resolve: body.resolve }),
        ...servicePortProblems(real),
        ...hostNameProblems(real, ctx.section('l4Backends').list()),
      ])
      reals.put(real)
      return []
    },
  }),
  endpoint({
    name: 'realServers.delete',
    method: 'DELETE',
    path: '/ipvsDirector/rips/{id}',
    effect: 'stage',
    summary: 'Delete a real server that no backend uses',
    message: 'Real server {id} will be deleted with apply',
    data: NoData,
    handle: (ctx, { params }) => {
      ctx.section('realServers').remove(params.id)
      return []
    },
  }),
  drain,
  ...moves,
]
