import { type TObject, Type } from 'typebox'
import type { FigureKind, Figures } from '../../model/live-figures.ts'
import type { LiveFigures, LiveView } from '../../context/figures.ts'
import type { ContextOf } from '../../context/context.ts'
import { endpoint } from '../../api/endpoint.ts'
import { Reply } from '../../api/reply.ts'
import type { Rendered } from '../../context/rendered.ts'
import { ApiError } from '../../base/errors.ts'

/** The live figures of one layer. */
export interface LiveLayer {
  /** Prefix of the names of its endpoints. */
  readonly name: string
  readonly base: string
  /** For example "Layer 7". */
  readonly title: string
  /** Figures of an object, beside its id and name. */
  readonly fields: Readonly<Record<FigureKind, Figures>>
  /** Description of the figures of an object. */
  readonly description: string
  /** Names of the endpoints that the specification has. */
  readonly specified: readonly string[]
  readonly figures: (ctx: ContextOf['read']) => LiveFigures
  /** Fields of the envelope beside `data`. */
  readonly beside?: TObject
}

function figures(live: LiveFigures, view: LiveView): Reply<never> | Promise<Reply<never>> {
  const ready = live.render(view)
  return ready instanceof Promise ? ready.then(found) : found(ready)
}

function found(ready: Rendered | undefined): Reply<never> {
  if (ready !== undefined) return Reply.bytes(ready)
  throw new ApiError('NOT_FOUND', 'No running object has this id; staged ones appear after apply')
}

const text = (description: string) => Type.String({ description })

function schemasOf({ title, fields, description }: LiveLayer) {
  const layer = title.replace('Layer ', 'L')
  const ids = { id: text('Record id.'), name: text('Name of the record.') }
  const owner = { backendId: text('Id of the backend that contains it.'), backendName: text('Name of the backend.') }
  const one = (what: string, told: Figures) =>
    Type.Unsafe<never>(Type.Object({ ...ids, ...told }, { title: `${layer}${what}Figures`, description }))
  const list = (items: typeof Frontend) =>
    Type.Unsafe<never>(Type.Array(items, { description: 'One entry per object.' }))
  const Frontend = one('Frontend', fields.frontend)
  const Backend = one('Backend', fields.backend)
  const Real = one('RealServer', { ...owner, ...fields.server })
  const [Frontends, Backends, Reals] = [list(Frontend), list(Backend), list(Real)]
  const parts = { frontends: Frontends, backends: Backends, reals: Reals }
  const All = Type.Unsafe<never>(Type.Object(parts, { title: `${layer}Figures`, description: 'All objects, by kind.' }))
  return { Frontend, Frontends, Backend, Backends, Reals, All }
}

/** Endpoints for the live statistics of a layer: all objects, each kind, and one object of each kind by its id. */
export function liveEndpoints(layer: LiveLayer) {
  const { name, base, title, specified, beside } = layer
  const { Frontend, Frontends, Backend, Backends, Reals, All } = schemasOf(layer)
  const about = (verb: string) => ({
    name: `${name}.${verb}`,
    method: 'GET' as const,
    effect: 'read' as const,
    isTagged: true as const,
    isSameForAll: true as const,
    ...(beside === undefined ? {} : { beside }),
    ...(specified.includes(verb) ? {} : { extension: true as const }),
  })
  const all = (verb: string, path: string, data: typeof Frontend, of: string, kind: AllKind) =>
    endpoint({
      ...about(verb),
      path: `${base}${path}`,
      summary: `Live ${of}`,
      message: messageOf(title, kind),
      data,
      handle: (ctx) => figures(layer.figures(ctx), { kind }),
    })
  const one = (verb: string, path: string, data: typeof Frontend, of: string, kind: OneKind) =>
    endpoint({
      ...about(verb),
      path: `${base}${path}/{id}`,
      summary: `Live statistics of ${of}`,
      message: messageOf(title, kind),
      data,
      handle: (ctx, { params }) => figures(layer.figures(ctx), { kind, id: params.id }),
    })
  return [
    all('all', '', All, `${title} statistics of frontends, backends and real servers`, 'all'),
    all('backends', '/backends', Backends, `statistics of every ${title} backend`, 'backends'),
    one('backend', '/backends', Backend, `one ${title} backend`, 'backend'),
    all('frontends', '/frontends', Frontends, `statistics of every ${title} frontend`, 'frontends'),
    one('frontend', '/frontends', Frontend, `one ${title} frontend`, 'frontend'),
    all('rips', '/rips', Reals, `statistics of every real server in every ${title} backend`, 'rips'),
    one('backendRips', '/rips/backend', Reals, `the real servers of one ${title} backend`, 'backend-rips'),
    one('rip', '/rips', Reals, `one real server, one entry per ${title} backend`, 'rip'),
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
