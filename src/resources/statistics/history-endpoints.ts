import { type Static, Type } from 'typebox'
import { prefers } from '../../api/accept.ts'
import type { HistoryFigures, HistoryQuery } from '../../context/figures.ts'
import type { ContextOf } from '../../context/context.ts'
import { endpoint } from '../../api/endpoint.ts'
import { Reply } from '../../api/reply.ts'
import type { Rendered } from '../../context/rendered.ts'
import { ApiError, type FieldError } from '../../base/errors.ts'
import { closed } from '../../model/fields.ts'
import { CONSOLIDATIONS, isMetric, type Metric, METRICS } from '../../model/metrics.ts'

const LAST_SECOND = 4_294_967_295

const Window = closed({
  start: Type.Integer({ minimum: 0, maximum: LAST_SECOND, description: 'Start of the window, Unix seconds.' }),
  end: Type.Integer({ minimum: 0, maximum: LAST_SECOND, description: 'End of the window (exclusive), Unix seconds.' }),
  resolution: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 31_536_000,
      description: 'Preferred seconds per point; the nearest recorded one is served. Omitted: the finest available.',
    }),
  ),
  consolidation: Type.Optional(
    Type.Enum([...CONSOLIDATIONS], {
      description:
        'What a point tells of its seconds; default average. average, minimum and maximum are per second and of the known seconds only: multiplied by resolution they are too much where a part of a point is unknown. sum is the value times the known seconds, so sums of points add up to what was counted (sessions, bytes; of currentSessions: session-seconds).',
    }),
  ),
  metrics: Type.Optional(
    Type.String({
      maxLength: 200,
      description: `Comma-separated, of ${METRICS.join(', ')}; omitted or empty means all four.`,
    }),
  ),
})

const text = (description: string) => Type.String({ description })
const second = (description: string) => Type.Integer({ description: `${description} Unix seconds.` })

const Points = Type.Unsafe<never>({
  type: 'array',
  items: { type: ['number', 'null'] },
  description: 'One value per point; null is unknown, 0 is idle.',
})
const Columns = Type.Object(Object.fromEntries(METRICS.map((metric) => [metric, Type.Optional(Points)])), {
  description: 'Points of each metric. Point i covers [start + i·resolution, start + (i+1)·resolution).',
})
const whose = { id: text('Record id.'), name: text('Its name.') }
const served = {
  applianceId: text('Node that kept it.'),
  start: second('Start of the window that is served.'),
  end: second('End of the window that is served (exclusive).'),
  resolution: Type.Integer({ description: 'Seconds per point.' }),
  consolidation: Type.Enum([...CONSOLIDATIONS], { description: 'What a point tells of its seconds.' }),
  metrics: Type.Array(Type.Enum([...METRICS]), { description: 'Metrics that were asked for, in that order.' }),
}
const one = Type.Object({ ...whose, ...served, series: Columns })
const Series = Type.Unsafe<never>(one)
const RealSeries = Type.Unsafe<never>(
  Type.Object({
    ...whose,
    ...served,
    reals: Type.Array(Type.Object({ ...whose, series: Columns }), { description: 'Every real server of the backend.' }),
  }),
)

/** The rules of a query that its schema cannot say; all problems at once. */
function historyQuery(query: Static<typeof Window>, accept: string): HistoryQuery {
  const errors: FieldError[] = []
  if (query.end < query.start) errors.push({ field: 'end', code: 'OUT_OF_RANGE', message: 'must not be before start' })
  const metrics = query.metrics === undefined ? METRICS : chosen(query.metrics, errors)
  if (errors.length > 0) {
    const first = errors.map(({ field, message }) => `${field} ${message}`).join('; ')
    throw new ApiError('INVALID_QUERY', `The query has a problem: ${first}`, { errors })
  }
  const { start, end, resolution, consolidation = 'average' } = query
  return { start, end, resolution, consolidation, metrics, format: prefers('text/csv', accept) ? 'csv' : 'json' }
}

function chosen(names: string, errors: FieldError[]): readonly Metric[] {
  const metrics: Metric[] = []
  if (names.trim() === '') return METRICS
  for (const name of names.split(',').map((word) => word.trim())) {
    if (!isMetric(name)) {
      const what = name === '' ? 'an empty name' : JSON.stringify(name)
      errors.push({
        field: 'metrics',
        code: 'NOT_ALLOWED',
        message: `has ${what}, which is none of ${METRICS.join(', ')}`,
      })
    } else if (!metrics.includes(name)) metrics.push(name)
  }
  return metrics
}

function answer(found: Rendered | undefined): Reply<never> {
  if (found !== undefined) return Reply.bytes(found)
  throw new ApiError('NOT_FOUND', 'Nothing that runs has this id; what is staged appears after apply')
}

const PRODUCES = ['application/json', 'text/csv']

/** What one layer tells. */
export interface HistoryLayer {
  /** Begins the names of its endpoints. */
  readonly name: string
  readonly base: string
  /** "Layer 7". */
  readonly title: string
  readonly isExtension: boolean
  readonly figures: (ctx: ContextOf['read']) => HistoryFigures
}

/** The history of a layer's frontends, backends and real servers. */
export function historyEndpoints({ name, base, title, isExtension, figures }: HistoryLayer) {
  const owner = { backendId: text('Backend.'), backendName: text('Name of the backend.') }
  const SeriesList = Type.Unsafe<never>(
    Type.Array(Type.Object({ ...owner, ...one.properties }), {
      description: `One entry per ${title} backend that holds the real server.`,
    }),
  )
  const history = (
    verb: string,
    path: string,
    summary: string,
    data: typeof Series,
    read: (figures: HistoryFigures, id: string, query: HistoryQuery, isStored: () => boolean) => Rendered | undefined,
  ) =>
    endpoint({
      name: `${name}.${verb}`,
      method: 'GET',
      path: `${base}/${path}/{id}/history`,
      effect: 'read',
      ...(isExtension ? { extension: true as const } : {}),
      summary,
      message: 'History',
      produces: PRODUCES,
      isTagged: true,
      query: Window,
      data,
      handle: (ctx, { params, query, accept }) => {
        const isStored = () => ctx.section('realServers').find(params.id) !== undefined
        return answer(read(figures(ctx), params.id, historyQuery(query, accept), isStored))
      },
    })
  return [
    history('backend', 'backends', `History of a ${title} backend`, Series, (of, id, query) => of.backend(id, query)),
    history('frontend', 'frontends', `History of a ${title} frontend`, Series, (of, id, query) =>
      of.frontend(id, query),
    ),
    history(
      'backendRips',
      'rips/backend',
      `History of every real server of a ${title} backend`,
      RealSeries,
      (of, id, query) => of.backendReals(id, query),
    ),
    history(
      'rip',
      'rips',
      `History of a real server, one entry per ${title} backend`,
      SeriesList,
      (of, id, query, isStored) =>
        // One that is not applied yet is in no backend that runs.
        of.rip(id, query) ?? (isStored() ? of.none(query) : undefined),
    ),
  ]
}
