import { type Static, Type } from 'typebox'
import { prefersCsv } from '../api/accept.ts'
import type { HistoryFigures, HistoryQuery } from '../api/figures.ts'
import { endpoint } from '../api/endpoint.ts'
import { type Rendered, Reply } from '../api/reply.ts'
import { ApiError, type FieldError } from '../errors.ts'
import { closed } from '../model/fields.ts'
import { isMetric, type Metric, METRICS } from '../model/metrics.ts'

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
    Type.Enum(['average', 'minimum', 'maximum'], { description: 'Which summary of a coarse point; default average.' }),
  ),
  metrics: Type.Optional(
    Type.String({ maxLength: 200, description: `Comma-separated, of ${METRICS.join(', ')}; omitted means all four.` }),
  ),
})

const Series = Type.Unsafe<never>({
  type: 'object',
  description:
    'id, name, applianceId, the start, end and resolution served, consolidation, metrics, and series: one array per metric; null is unknown, 0 is idle. Point i covers [start + i·resolution, start + (i+1)·resolution).',
})
const SeriesList = Type.Unsafe<never>({
  type: 'array',
  items: Series,
  description: 'One entry per Layer 7 backend that holds the real server, with backendId and backendName.',
})

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
  return { start, end, resolution, consolidation, metrics, format: prefersCsv(accept) ? 'csv' : 'json' }
}

function chosen(names: string, errors: FieldError[]): readonly Metric[] {
  const metrics: Metric[] = []
  for (const name of names.split(',')) {
    if (!isMetric(name)) {
      errors.push({ field: 'metrics', code: 'NOT_ALLOWED', message: `${name} is none of ${METRICS.join(', ')}` })
    } else if (!metrics.includes(name)) metrics.push(name)
  }
  return metrics
}

function answer(found: Rendered | undefined): Reply<never> {
  if (found !== undefined) return Reply.bytes(found)
  throw new ApiError('NOT_FOUND', 'Nothing that runs has this id; what is staged appears after apply')
}

const BASE = '/{applianceId}/layer7proxy/stats'
const PRODUCES = ['application/json', 'text/csv']

const history = (
  name: string,
  path: string,
  summary: string,
  data: typeof Series,
  read: (figures: HistoryFigures, id: string, query: HistoryQuery) => Rendered | undefined,
) =>
  endpoint({
    name,
    method: 'GET',
    path: `${BASE}/${path}/{id}/history`,
    effect: 'read',
    staged: false,
    summary,
    message: 'History',
    produces: PRODUCES,
    query: Window,
    data,
    handle: (ctx, { params, query, accept }) => answer(read(ctx.history, params.id, historyQuery(query, accept))),
  })

export const l7History = [
  history('l7History.backend', 'backends', 'History of a Layer 7 backend', Series, (figures, id, query) =>
    figures.backend(id, query),
  ),
  history('l7History.frontend', 'frontends', 'History of a Layer 7 frontend', Series, (figures, id, query) =>
    figures.frontend(id, query),
  ),
  history(
    'l7History.backendRips',
    'rips/backend',
    'History of every real server of a backend',
    Series,
    (figures, id, query) => figures.backendReals(id, query),
  ),
  history(
    'l7History.rip',
    'rips',
    'History of a real server, one entry per backend',
    SeriesList,
    (figures, id, query) => figures.rip(id, query),
  ),
]
