import { Type } from 'typebox'
import type { LiveFigures, LiveView } from '../api/figures.ts'
import { endpoint } from '../api/endpoint.ts'
import { Reply } from '../api/reply.ts'
import { ApiError } from '../errors.ts'

const Figures = Type.Unsafe<never>({
  type: 'object',
  required: ['id', 'name', 'status'],
  additionalProperties: true,
  description:
    'Counters of one object, named after HAProxy’s in camelCase, each where HAProxy keeps it for that type; null while unknown.',
})
const FigureList = Type.Unsafe<never>({ type: 'array', items: Figures, description: 'One entry per object.' })
const AllFigures = Type.Unsafe<never>({
  type: 'object',
  required: ['frontends', 'backends', 'reals'],
  properties: { frontends: FigureList, backends: FigureList, reals: FigureList },
  description: 'Every object by kind.',
})

function figures(live: LiveFigures, view: LiveView): Reply<never> {
  const ready = live.render(view)
  if (ready !== undefined) return Reply.bytes(ready)
  throw new ApiError('NOT_FOUND', 'Nothing that runs has this id; what is staged appears after apply')
}

const BASE = '/{applianceID}/layer7proxy/stats'

export const l7Stats = [
  endpoint({
    name: 'l7Stats.all',
    method: 'GET',
    path: BASE,
    effect: 'read',
    staged: false,
    summary: 'Live Layer 7 statistics of frontends, backends and real servers',
    message: 'Layer 7 statistics',
    data: AllFigures,
    handle: (ctx) => figures(ctx.live, { kind: 'all' }),
  }),
  endpoint({
    name: 'l7Stats.backends',
    method: 'GET',
    path: `${BASE}/backends`,
    effect: 'read',
    staged: false,
    summary: 'Live statistics of every Layer 7 backend',
    message: 'Layer 7 backend statistics',
    data: FigureList,
    handle: (ctx) => figures(ctx.live, { kind: 'backends' }),
  }),
  endpoint({
    name: 'l7Stats.backend',
    method: 'GET',
    path: `${BASE}/backends/{id}`,
    effect: 'read',
    staged: false,
    summary: 'Live statistics of one Layer 7 backend',
    message: 'Layer 7 backend statistics',
    data: Figures,
    handle: (ctx, { params }) => figures(ctx.live, { kind: 'backend', id: params.id }),
  }),
  endpoint({
    name: 'l7Stats.frontends',
    method: 'GET',
    path: `${BASE}/frontends`,
    effect: 'read',
    staged: false,
    summary: 'Live statistics of every Layer 7 frontend',
    message: 'Layer 7 frontend statistics',
    data: FigureList,
    handle: (ctx) => figures(ctx.live, { kind: 'frontends' }),
  }),
  endpoint({
    name: 'l7Stats.frontend',
    method: 'GET',
    path: `${BASE}/frontends/{id}`,
    effect: 'read',
    staged: false,
    extension: true,
    summary: 'Live statistics of one Layer 7 frontend',
    message: 'Layer 7 frontend statistics',
    data: Figures,
    handle: (ctx, { params }) => figures(ctx.live, { kind: 'frontend', id: params.id }),
  }),
  endpoint({
    name: 'l7Stats.rips',
    method: 'GET',
    path: `${BASE}/rips`,
    effect: 'read',
    staged: false,
    extension: true,
    summary: 'Live statistics of every real server in every Layer 7 backend',
    message: 'Layer 7 real server statistics',
    data: FigureList,
    handle: (ctx) => figures(ctx.live, { kind: 'rips' }),
  }),
  endpoint({
    name: 'l7Stats.backendRips',
    method: 'GET',
    path: `${BASE}/rips/backend/{id}`,
    effect: 'read',
    staged: false,
    extension: true,
    summary: 'Live statistics of the real servers of one Layer 7 backend',
    message: 'Layer 7 real server statistics',
    data: FigureList,
    handle: (ctx, { params }) => figures(ctx.live, { kind: 'backend-rips', id: params.id }),
  }),
  endpoint({
    name: 'l7Stats.rip',
    method: 'GET',
    path: `${BASE}/rips/{id}`,
    effect: 'read',
    staged: false,
    extension: true,
    summary: 'Live statistics of one real server, one entry per Layer 7 backend',
    message: 'Layer 7 real server statistics',
    data: FigureList,
    handle: (ctx, { params }) => figures(ctx.live, { kind: 'rip', id: params.id }),
  }),
]
