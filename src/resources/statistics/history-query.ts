import { type Static, Type } from 'typebox'
import { prefers } from '../../api/accept.ts'
import { ApiError, type FieldError } from '../../base/errors.ts'
import type { HistoryQuery } from '../../context/figures.ts'
import { CONSOLIDATIONS, CORE_METRICS, isMetric, type Metric, METRICS } from '../../model/metrics.ts'

const LAST_SECOND = 4_294_967_295
/** Maximum number of points per object. */
const POINTS_MAX = 20_000
/** Maximum number of objects in an answer: their ids fit into a request line. */
export const IDS_MAX = 50
const ID_LENGTH_MAX = 64

/** Objects that have the same metrics. */
export interface Askable {
  /** For example "Layer 7 frontends". */
  readonly title: string
  readonly metrics: readonly Metric[]
}

/** Returns the schema of a history query. */
export function windowOf({ title, metrics }: Askable) {
  const more = metrics.length === CORE_METRICS.length ? '' : `; all metrics of ${title}: ${metrics.join(', ')}`
  return {
    start: Type.Integer({ minimum: 0, maximum: LAST_SECOND, description: 'Start of the window, Unix seconds.' }),
    end: Type.Integer({
      minimum: 0,
      maximum: LAST_SECOND,
      description: 'End of the window (exclusive), Unix seconds.',
    }),
    resolution: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 31_536_000,
        description:
          'Preferred seconds per point; the nearest recorded resolution is served. Omitted: the finest available.',
      }),
    ),
    points: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: POINTS_MAX,
        description:
          'Chooses the resolution; excludes `resolution`: the finest recorded one that reaches back to start and has at most this many points in the closed part of the window. If even the coarsest has more, that one is served.',
      }),
    ),
    consolidation: Type.Optional(
      Type.Enum([...CONSOLIDATIONS], {
        description:
          'How the seconds of a point are consolidated; default average. average, minimum and maximum are per second and cover the known seconds only: multiplied by resolution they are too high if a part of the point is unknown. sum is the value times the known seconds, so sums of points add up to the counted total (sessions, bytes, requests, responses, errors; for currentSessions: session-seconds).',
      }),
    ),
    metrics: Type.Optional(
      Type.String({
        maxLength: 400,
        description: `Comma-separated, each once and in the order of the answer. Omitted or empty means ${CORE_METRICS.join(', ')}${more}.`,
      }),
    ),
  }
}

/** The ids of several objects. */
export const Ids = Type.String({
  minLength: 1,
  maxLength: IDS_MAX * (ID_LENGTH_MAX + 2),
  description: `Comma-separated ids of 1 to ${IDS_MAX} objects of this kind, each once and in the order of the answer.`,
})

type Window = Static<ReturnType<typeof Type.Object<ReturnType<typeof windowOf>>>>

/**
 * Checks the rules of a query that its schema cannot express; refuses with all problems at once, including `errors`.
 */
export function historyQuery(query: Window, accept: string, askable: Askable, errors: FieldError[] = []): HistoryQuery {
  const { start, end, resolution, points, consolidation = 'average' } = query
  if (end < start) errors.push({ field: 'end', code: 'OUT_OF_RANGE', message: 'must not be before start' })
  if (resolution !== undefined && points !== undefined)
    errors.push({ field: 'points', code: 'CONFLICT', message: 'chooses the resolution: send only one of the two' })
  const metrics = query.metrics === undefined ? CORE_METRICS : chosen(query.metrics, askable, errors)
  refuseQuery(errors)
  const format = prefers('text/csv', accept) ? 'csv' : 'json'
  return { start, end, resolution, points, consolidation, metrics, format }
}

/** Refuses a query that has problems. */
export function refuseQuery(errors: readonly FieldError[]): void {
  if (errors.length === 0) return
  const all = errors.map(({ field, message }) => `${field} ${message}`).join('; ')
  throw new ApiError('INVALID_QUERY', `The query has a problem: ${all}`, { errors })
}

function chosen(names: string, { title, metrics: known }: Askable, errors: FieldError[]): readonly Metric[] {
  if (names.trim() === '') return CORE_METRICS
  const metrics: Metric[] = []
  for (const name of words(names)) {
    const isKnown = isMetric(name)
    if (isKnown && known.includes(name)) {
      if (!metrics.includes(name)) metrics.push(name)
      continue
    }
    const what = isKnown
      ? `which is not recorded for ${title}: available are ${known.join(', ')}`
      : `which is not one of ${METRICS.join(', ')}`
    errors.push({ field: 'metrics', code: 'NOT_ALLOWED', message: `has ${quoted(name)}, ${what}` })
  }
  return metrics
}

/** Returns the listed ids, each once. `refusal` returns why an id is not accepted. */
export function listedIds(list: string, refusal: (id: string) => string | undefined, errors: FieldError[]) {
  const ids = [...new Set(words(list))]
  if (ids.length > IDS_MAX) {
    errors.push({
      field: 'ids',
      code: 'TOO_MANY',
      message: `names ${ids.length} objects, but at most ${IDS_MAX} are allowed`,
    })
    return ids
  }
  for (const id of ids) {
    const why = id === '' ? 'which is not an id' : refusal(id)
    if (why !== undefined) errors.push({ field: 'ids', code: 'NOT_FOUND', message: `has ${quoted(id)}, ${why}` })
  }
  return ids
}

const words = (list: string): readonly string[] => list.split(',').map((word) => word.trim())
const quoted = (word: string): string => (word === '' ? 'an empty name' : JSON.stringify(word.slice(0, ID_LENGTH_MAX)))
