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
  family: counter(`layer7_${what}_responses`, 'HTTP responses, by the first digit of their status.', [
    ...labels,
    'code',
  ]),
  // For thousands of servers, only the codes that say something about the server.
  columns: (what === 'server' ? CODES.slice(1, -1) : CODES).map((code) => ({
    column: `hrsp_${code}`,
    label: `,code="${code}"} `,
  })),
})

const TRAFFIC: readonly Make[] = [
  of(gauge, 'current_sessions', 'scur', 'Open sessions.'),
  of(counter, 'sessions', 'stot', 'Sessions since the start of the HAProxy process.'),
  of(counter, 'received_bytes', 'bin', 'Bytes from clients.'),
  of(counter, 'sent_bytes', 'bout', 'Bytes to clients.'),
  of(counter, 'requests', 'req_tot', 'HTTP requests.'),
  responses,
]
const DENIED: readonly Make[] = [
  of(counter, 'denied_requests', 'dreq', 'Requests denied by rules.'),
  of(counter, 'denied_responses', 'dresp', 'Responses denied by rules.'),
]
const SERVER_SIDE: readonly Make[] = [
  of(counter, 'connection_errors', 'econ', 'Failed connections to servers.'),
  of(counter, 'response_errors', 'eresp', 'Aborted or invalid responses of servers.'),
  of(counter, 'retries', 'wretr', 'Retried connections.'),
  of(gauge, 'queued_requests', 'qcur', 'Requests waiting for a server.'),
  of(counter, 'downtime_seconds', 'downtime', 'Total downtime.'),
  average('response_time', 'rtime', 'Time until the response'),
]

const MAKES: ByKind<readonly Make[]> = {
  frontend: [
    ...TRAFFIC,
    of(gauge, 'session_limit', 'slim', 'Limit of simultaneously open sessions.'),
    of(counter, 'request_errors', 'ereq', 'Aborted or invalid requests.'),
    ...DENIED,
  ],
  backend: [
    ...TRAFFIC,
    ...DENIED,
    ...SERVER_SIDE,
    of(counter, 'redispatches', 'wredis', 'Requests redispatched to another server.'),
    of(gauge, 'active_servers', 'act', 'Servers that accept traffic.'),
    of(gauge, 'backup_servers', 'bck', 'Backup servers that could accept traffic.'),
    average('queue_time', 'qtime', 'Time in the queue'),
    average('connect_time', 'ctime', 'Time to connect'),
    average('total_time', 'ttime', 'Total time'),
  ],
  server: [...TRAFFIC, ...SERVER_SIDE, of(gauge, 'weight', 'weight', 'Weight: share of the traffic.')],
}

const UP: ByKind<string> = {
  frontend: 'Whether the frontend accepts connections.',
  backend: 'Whether a server of the backend accepts traffic; absent for backends without servers.',
  server: 'Whether the health check of the server passes; absent if it is not checked.',
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
