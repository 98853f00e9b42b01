import { Type } from 'typebox'
import { CONSOLIDATIONS, type Metric } from '../../model/metrics.ts'

const AVERAGE =
  'ms, an average that HAProxy keeps itself of its last 1024 requests (of connections in tcp mode) and that was read once a second: not of the requests of that second. It stays what it was while there are none, and is 0 before the first one of a process. Of the process that serves now. See `show stat` in the management guide of HAProxy'

const LASTING = '; of Layer 7, those of a connection that lasts come every five seconds, and when it ends.'

/** Description of each metric, with the HAProxy column it is computed from. */
const MEANINGS: Readonly<Record<Metric, string>> = {
  currentSessions: 'Sessions that are open (scur).',
  sessionRate: 'New sessions per second (stot).',
  bytesIn: `Bytes from clients per second (bin)${LASTING}`,
  bytesOut: `Bytes to clients per second (bout)${LASTING}`,
  requestRate: 'HTTP requests per second (req_tot).',
  responses1xx: 'HTTP answers 100 to 199 per second (hrsp_1xx).',
  responses2xx: 'HTTP answers 200 to 299 per second (hrsp_2xx).',
  responses3xx: 'HTTP answers 300 to 399 per second (hrsp_3xx).',
  responses4xx: 'HTTP answers 400 to 499 per second (hrsp_4xx).',
  responses5xx: 'HTTP answers 500 to 599 per second (hrsp_5xx).',
  errors:
    'Errors per second: of a frontend, requests that were broken off or invalid (ereq); of a backend or a real server, connections to servers that failed and answers that were broken off (econ + eresp).',
  queue:
    'Requests that wait: of a backend for whichever server is free next, of a real server for this one alone (qcur).',
  responseTime: `Time to the answer of the server, ${AVERAGE}, rtime; 0 in tcp mode.`,
  connectTime: `Time to connect to the server, ${AVERAGE}, ctime.`,
  totalTime: `Time of a whole session, ${AVERAGE}, ttime.`,
}

const text = (description: string) => Type.String({ description })
const second = (description: string) => Type.Integer({ description: `${description} Unix seconds.` })

const pointsOf = (metric: Metric) =>
  Type.Unsafe<never>({ type: 'array', items: { type: ['number', 'null'] }, description: MEANINGS[metric] })

/** Schemas of the points, for the metrics of a kind of objects. */
export function columnsOf(metrics: readonly Metric[]) {
  const columns = Object.fromEntries(metrics.map((metric) => [metric, Type.Optional(pointsOf(metric))]))
  return Type.Object(columns, {
    description:
      'Points of each metric that was asked for. Point i covers [start + i·resolution, start + (i+1)·resolution). null is unknown, 0 is idle; what HAProxy does not count for an object, such as HTTP answers in tcp mode, is null.',
  })
}

export const whose = { id: text('Record id.'), name: text('Its name.') }
export const owner = { backendId: text('Backend.'), backendName: text('Name of the backend.') }

/** Fields that all series of an answer share. */
export const servedOf = (metrics: readonly Metric[]) => ({
  applianceId: text('Node that kept it.'),
  start: second('Start of the window that is served.'),
  end: second('End of the window that is served (exclusive).'),
  resolution: Type.Integer({ description: 'Seconds per point.' }),
  consolidation: Type.Enum([...CONSOLIDATIONS], { description: 'What a point tells of its seconds.' }),
  metrics: Type.Array(Type.Enum([...metrics]), { description: 'Metrics that were asked for, in that order.' }),
})
