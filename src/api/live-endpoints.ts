import { Type } from 'typebox'
import type { LiveFigures, LiveView } from './figures.ts'
import type { ContextOf } from './context.ts'
import { endpoint } from './endpoint.ts'
import { Reply } from './reply.ts'
import { ApiError } from '../errors.ts'

/** What one layer tells. */
export interface LiveLayer {
  /** Begins the names of its endpoints. */
  readonly name: string
  readonly base: string
  /** "Layer 7". */
  readonly title: string
  /** Fields that every object has. */
  readonly required: readonly string[]
  /** What the figures of an object are. */
  readonly description: string
  /** Names of the endpoints that the specification has. */
  readonly specified: readonly string[]
  readonly figures: (ctx: ContextOf['read']) => LiveFigures
}

function figures(live: LiveFigures, view: LiveView): Reply<never> {
  const ready = live.render(view)
  if (ready !== undefined) return Reply.bytes(ready)
  throw new ApiError('NOT_FOUND', 'Nothing that runs has this id; what is staged appears after apply')
}

/** The live statistics of a layer: every object, each kind, and one of each by its id. */
export function liveEndpoints(layer: LiveLayer) {
  const { name, base, title, required, description, specified } = layer
  const Figures = Type.Unsafe<never>({ type: 'object', required, additionalProperties: true, description })
  const FigureList = Type.Unsafe<never>({ type: 'array', items: Figures, description: 'One entry per object.' })
  const AllFigures = Type.Unsafe<never>({
    type: 'object',
    required: ['frontends', 'backends', 'reals'],
    properties: { frontends: FigureList, backends: FigureList, reals: FigureList },
    description: 'Every object by kind.',
  })
  const about = (verb: string) => ({
    name: `${name}.${verb}`,
    method: 'GET' as const,
    effect: 'read' as const,
    staged: false,
    ...(specified.includes(verb) ? {} : { extension: true as const }),
  })
  const all = (verb: string, path: string, data: typeof Figures, of: string, kind: AllKind) =>
    endpoint({
      ...about(verb),
      path: `${base}${path}`,
      summary: `Live ${of}`,
      message: messageOf(title, kind),
      data,
      handle: (ctx) => figures(layer.figures(ctx), { kind }),
    })
  const one = (verb: string, path: string, data: typeof Figures, of: string, kind: OneKind) =>
    endpoint({
      ...about(verb),
      path: `${base}${path}/{id}`,
      summary: `Live statistics of ${of}`,
      message: messageOf(title, kind),
      data,
      handle: (ctx, { params }) => figures(layer.figures(ctx), { kind, id: params.id }),
    })
  return [
    all('all', '', AllFigures, `${title} statistics of frontends, backends and real servers`, 'all'),
    all('backends', '/backends', FigureList, `statistics of every ${title} backend`, 'backends'),
    one('backend', '/backends', Figures, `one ${title} backend`, 'backend'),
    all('frontends', '/frontends', FigureList, `statistics of every ${title} frontend`, 'frontends'),
    one('frontend', '/frontends', Figures, `one ${title} frontend`, 'frontend'),
    all('rips', '/rips', FigureList, `statistics of every real server in every ${title} backend`, 'rips'),
    one('backendRips', '/rips/backend', FigureList, `the real servers of one ${title} backend`, 'backend-rips'),
    one('rip', '/rips', FigureList, `one real server, one entry per ${title} backend`, 'rip'),
  ]
}

type AllKind = 'all' | 'frontends' | 'backends' | 'rips'
type OneKind = 'frontend' | 'backend' | 'backend-rips' | 'rip'

function messageOf(title: string, kind: LiveView['kind']): string {
  if (kind === 'all') return `${title} statistics`
  const what = kind.startsWith('frontend')
    ? 'frontend'
    : kind.endsWith('rips') || kind === 'rip'
      ? 'real server'
      : 'backend'
  return `${title} ${what} statistics`
}
