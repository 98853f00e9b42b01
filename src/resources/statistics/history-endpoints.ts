import { type TSchema, Type } from 'typebox'
import { endpoint } from '../../api/endpoint.ts'
import { Reply } from '../../api/reply.ts'
import { ApiError, type FieldError } from '../../base/errors.ts'
import type { ContextOf } from '../../context/context.ts'
import type { HistoryFigures, HistoryKind, HistoryQuery } from '../../context/figures.ts'
import type { Rendered } from '../../context/rendered.ts'
import { closed } from '../../model/fields.ts'
import type { Metric } from '../../model/metrics.ts'
import { type Askable, historyQuery, Ids, listedIds, windowOf } from './history-query.ts'
import { columnsOf, owner, servedOf, whose } from './history-series.ts'

function answer(found: Rendered | undefined): Reply<never> {
  if (found !== undefined) return Reply.bytes(found)
  throw new ApiError('NOT_FOUND', 'No running object has this id; staged ones appear after apply')
}

/** Marks an answer about a record that is only staged as momentary: the record may be discarded a moment later. */
const ofStaged = (found: Rendered | undefined): Rendered | undefined => found && { ...found, isOfNow: true }

/** The history of one layer. */
export interface HistoryLayer {
  /** Prefix of the names of its endpoints. */
  readonly name: string
  readonly base: string
  /** For example "Layer 7". */
  readonly title: string
  readonly isExtension: boolean
  /** The metrics stored for each kind of objects. */
  readonly metrics: Readonly<Record<HistoryKind, readonly Metric[]>>
  readonly figures: (ctx: ContextOf['read']) => HistoryFigures
}

const NOUNS: Readonly<Record<HistoryKind, string>> = {
  frontend: 'frontend',
  backend: 'backend',
  server: 'real server',
}
const FOLDERS: Readonly<Record<HistoryKind, string>> = { frontend: 'frontends', backend: 'backends', server: 'rips' }
const LISTS: Readonly<Record<HistoryKind, string>> = { frontend: 'frontends', backend: 'backends', server: 'reals' }

/** Returns whether a real server exists that no running backend contains because it is not applied yet. */
const isStored = (ctx: ContextOf['read'], ripId: string): boolean =>
  ctx.section('realServers').find(ripId) !== undefined

/** Endpoints for the history of a layer's frontends, backends and real servers. */
export function historyEndpoints(layer: HistoryLayer) {
  return [...ofOne(layer), ...(['backend', 'frontend', 'server'] as const).map((kind) => ofSeveral(layer, kind))]
}

const about = ({ name, isExtension }: HistoryLayer, verb: string) => ({
  name: `${name}.${verb}`,
  method: 'GET' as const,
  effect: 'read' as const,
  ...(isExtension ? { extension: true as const } : {}),
  message: 'History',
  produces: ['application/json', 'text/csv'],
  sends: ['X-Resolution'],
  isTagged: true as const,
  isSameForAll: true as const,
})

const askable = ({ title, metrics }: HistoryLayer, kind: HistoryKind): Askable => ({
  title: `${title} ${NOUNS[kind]}s`,
  metrics: metrics[kind],
})

function ofOne(layer: HistoryLayer) {
  const { base, title, metrics, figures } = layer
  const one = (kind: HistoryKind) => ({ ...whose, ...servedOf(metrics[kind]), series: columnsOf(metrics[kind]) })
  const reals = Type.Array(Type.Object({ ...whose, series: columnsOf(metrics.server) }), {
    description: 'All real servers of the backend.',
  })
  const history = (
    verb: string,
    path: string,
    kind: HistoryKind,
    summary: string,
    data: TSchema,
    read: (figures: HistoryFigures, id: string, query: HistoryQuery, ctx: ContextOf['read']) => Rendered | undefined,
  ) => {
    const asked = askable(layer, kind)
    return endpoint({
      ...about(layer, verb),
      path: `${base}/${path}/{id}/history`,
      summary,
      query: closed(windowOf(asked)),
      data: Type.Unsafe<never>(data),
      handle: (ctx, { params, query, accept }) =>
        answer(read(figures(ctx), params.id, historyQuery(query, accept, asked), ctx)),
    })
  }
  const inBackends = Type.Array(Type.Object({ ...owner, ...one('server') }), {
    description: `One entry per ${title} backend that contains the real server.`,
  })
  const ofReals = Type.Object({ ...whose, ...servedOf(metrics.server), reals })
  return [
    history(
      'backend',
      'backends',
      'backend',
      `History of a ${title} backend`,
      Type.Object(one('backend')),
      (of, id, q) => of.backend(id, q),
    ),
    history(
      'frontend',
      'frontends',
      'frontend',
      `History of a ${title} frontend`,
      Type.Object(one('frontend')),
      (of, id, query) => of.frontend(id, query),
    ),
    history(
      'backendRips',
      'rips/backend',
      'server',
      `History of every real server of a ${title} backend`,
      ofReals,
      (of, id, query) => of.backendReals(id, query),
    ),
    history(
      'rip',
      'rips',
      'server',
      `History of a real server, one entry per ${title} backend`,
      inBackends,
      (of, id, query, ctx) => of.rip(id, query) ?? (isStored(ctx, id) ? ofStaged(of.none(query)) : undefined),
    ),
  ]
}

function ofSeveral(layer: HistoryLayer, kind: HistoryKind) {
  const { base, title, metrics, figures } = layer
  const asked = askable(layer, kind)
  const subject = { ...(kind === 'server' ? owner : {}), ...whose, series: columnsOf(metrics[kind]) }
  const list = Type.Array(Type.Object(subject), {
    description:
      kind === 'server'
        ? 'In the order of ids, one entry per backend that contains the real server; none for a real server in no running backend.'
        : 'In the order of ids.',
  })
  return endpoint({
    ...about(layer, FOLDERS[kind]),
    path: `${base}/${FOLDERS[kind]}/history`,
    extension: true,
    summary: `History of several ${title} ${NOUNS[kind]}s, with the same time window for all`,
    query: closed({ ids: Ids, ...windowOf(asked) }),
    data: Type.Unsafe<never>(Type.Object({ ...servedOf(metrics[kind]), [LISTS[kind]]: list })),
    handle: (ctx, { query: { ids, ...window }, accept }) => {
      const history = figures(ctx)
      const errors: FieldError[] = []
      let hasStaged = false
      const refusal = (id: string) => {
        const found = history.kindsOf(id)
        if (found.includes(kind)) return undefined
        if (kind === 'server' && isStored(ctx, id)) {
          hasStaged = true
          return undefined
        }
        const [other] = found
        return other === undefined ? `which is not a running ${NOUNS[kind]}` : `which is a ${NOUNS[other]}`
      }
      const listed = listedIds(ids, refusal, errors)
      const found = history.several(kind, listed, historyQuery(window, accept, asked, errors))
      return answer(hasStaged ? ofStaged(found) : found)
    },
  })
}
