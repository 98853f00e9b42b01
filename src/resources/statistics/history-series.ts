import { Type } from 'typebox'
import { CONSOLIDATIONS, type Metric } from '../../model/metrics.ts'

const AVERAGE =
  'ms, the average that HAProxy itself keeps over its last 1024 requests (connections in tcp mode), read once a second: not the average of the requests in that second. It stays unchanged while there are no requests, and is 0 before the first request of a process. Only from the current process. See `show stat` in the management guide of HAProxy'

const LASTING = '; on Layer 7, those of a long connection are counted every five seconds, and at its end.'

/** Description of each metric, with the HAProxy column it is computed from. */
const MEANINGS: Readonly<Record<Metric, string>> = {
  currentSessions: 'Open sessions (scur).',
  sessionRate: 'New sessions per second (stot).',
  bytesIn: `Bytes from clients per second (bin)${LASTING}`,
  bytesOut: `Bytes to clients per second (bout)${LASTING}`,
  requestRate: 'HTTP requests per second (req_tot).',
  responses1xx: 'HTTP responses 100 to 199 per second (hrsp_1xx).',
  responses2xx: 'HTTP responses 200 to 299 per second (hrsp_2xx).',
  responses3xx: 'HTTP responses 300 to 399 per second (hrsp_3xx).',
  responses4xx: 'HTTP responses 400 to 499 per second (hrsp_4xx).',
  responses5xx: 'HTTP responses 500 to 599 per second (hrsp_5xx).',
  errors:
    'Errors per second: for a frontend, aborted or invalid requests (ereq); for a backend or a real server, failed connections to servers and aborted responses (econ + eresp).',
  queue:
    'Waiting requests: for a backend, those waiting for the next free server; for a real server, those waiting for this server only (qcur).',
  responseTime: `Time until the response of the server, ${AVERAGE}, rtime; 0 in tcp mode.`,
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
      'Points of each requested metric. Point i covers [start + i·resolution, start + (i+1)·resolution). null is unknown, 0 is idle; figures that HAProxy does not count for an object, such as HTTP responses in tcp mode, are null.',
  })
}

export const whose = { id: text('Record id.'), name: text('Name of the record.') }
export const owner = { backendId: text('Backend.'), backendName: text('Name of the backend.') }

/** Fields that all series of an answer share. */
export const servedOf = (metrics: readonly Metric[]) => ({
  applianceId: text('Node that recorded the history.'),
  start: second('Start of the served window.'),
  end: second('End of the served window (exclusive).'),
  resolution: Type.Integer({ description: 'Seconds per point.' }),
  consolidation: Type.Enum([...CONSOLIDATIONS], { description: 'How the seconds of a point are consolidated.' }),
  metrics: Type.Array(Type.Enum([...metrics]), { description: 'Requested metrics, in that order.' }),
})
