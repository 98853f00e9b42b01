import { counter, type Family, gauge } from './family.ts'
import { type ByKind, byKind, OBJECT_LABELS, type ObjectKind, serverState } from './object-kinds.ts'

/** A column of HAProxy as a metric; several columns of one metric are told apart by a label. */
export interface ColumnFamily {
  readonly family: Family
  /** Whether HAProxy's values are in milliseconds. */
  readonly isMilliseconds?: true
  readonly columns: readonly { readonly column: string; readonly label?: string }[]
}

interface KindFamilies {
  readonly labels: readonly string[]
  readonly up: Family
  readonly columns: readonly ColumnFamily[]
}

const CODES = ['1xx', '2xx', '3xx', '4xx', '5xx', 'other'] as const

type Make = (labels: readonly string[], what: string) => ColumnFamily
const of =
  (make: typeof counter, name: string, column: string, help: string): Make =>
  (labels, what) => ({ family: make(`layer7_${what}_${name}`, help, labels), columns: [{ column }] })
const average =
  (name: string, column: string, help: string): Make =>
  (labels, what) => ({
    ...of(gauge, `${name}_average_seconds`, column, `${help}, average of the last 1024 requests.`)(labels, what),
    isMilliseconds: true,
  })

const responses: Make = (labels, what) => ({
  family: counter(`layer7_${what}_responses`, 'HTTP answers, by the first digit of their status.', [...labels, 'code']),
  // For thousands of servers, only the codes that say something about the server.
  columns: (what === 'server' ? CODES.slice(1, -1) : CODES).map((code) => ({
    column: `hrsp_${code}`,
    label: `,code="${code}"} `,
  })),
})

const TRAFFIC: readonly Make[] = [
  of(gauge, 'current_sessions', 'scur', 'Sessions that are open.'),
  of(counter, 'sessions', 'stot', 'Sessions since the start of its process.'),
  of(counter, 'received_bytes', 'bin', 'Bytes from clients.'),
  of(counter, 'sent_bytes', 'bout', 'Bytes to clients.'),
  of(counter, 'requests', 'req_tot', 'HTTP requests.'),
  responses,
]
const DENIED: readonly Make[] = [
  of(counter, 'denied_requests', 'dreq', 'Requests that rules refused.'),
  of(counter, 'denied_responses', 'dresp', 'Answers that rules refused.'),
]
const SERVER_SIDE: readonly Make[] = [
  of(counter, 'connection_errors', 'econ', 'Connections to servers that failed.'),
  of(counter, 'response_errors', 'eresp', 'Answers of servers that were broken off or invalid.'),
  of(counter, 'retries', 'wretr', 'Connections that were tried again.'),
  of(gauge, 'queued_requests', 'qcur', 'Requests that wait for a server.'),
  of(counter, 'downtime_seconds', 'downtime', 'Time that it was down.'),
  average('response_time', 'rtime', 'Time to the answer'),
]

const MAKES: ByKind<readonly Make[]> = {
  frontend: [
    ...TRAFFIC,
    of(gauge, 'session_limit', 'slim', 'Sessions that may be open at once.'),
    of(counter, 'request_errors', 'ereq', 'Requests that were broken off or invalid.'),
    ...DENIED,
  ],
  backend: [
    ...TRAFFIC,
    ...DENIED,
    ...SERVER_SIDE,
    of(counter, 'redispatches', 'wredis', 'Requests that were given to another server.'),
    of(gauge, 'active_servers', 'act', 'Servers that take traffic.'),
    of(gauge, 'backup_servers', 'bck', 'Backup servers that could take it.'),
    average('queue_time', 'qtime', 'Time in the queue'),
    average('connect_time', 'ctime', 'Time to connect'),
    average('total_time', 'ttime', 'Time in all'),
  ],
  server: [...TRAFFIC, ...SERVER_SIDE, of(gauge, 'weight', 'weight', 'Share of the traffic.')],
}

const UP: ByKind<string> = {
  frontend: 'Whether it takes connections.',
  backend: 'Whether a server of it takes traffic; absent of one that has none.',
  server: 'Whether its health check passes; absent while none is made.',
}

const familiesOf = (what: ObjectKind): KindFamilies => {
  const labels = OBJECT_LABELS[what]
  return {
    labels,
    up: gauge(`layer7_${what}_up`, UP[what], labels),
    columns: MAKES[what].map((make) => make(labels, what)),
  }
}

export const LAYER_7 = byKind(familiesOf)

export const LAYER_7_SERVER_STATE = serverState('layer7')

export const LAYER_7_FAMILIES: readonly Family[] = [
  ...Object.values(LAYER_7).flatMap(({ up, columns }) => [up, ...columns.map(({ family }) => family)]),
  LAYER_7_SERVER_STATE,
]
