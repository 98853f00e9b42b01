import { type TSchema, Type } from 'typebox'
import { Health, RealServerState } from './real-server.ts'

/**
 * The figures that live answers have for each kind of object, by layer: the schemas of the API, in the order of the
 * answers.
 */

export type FigureKind = 'frontend' | 'backend' | 'server'

/** Schemas of the fields that are present in every answer, by name. */
export type Figures = Readonly<Record<string, TSchema>>

const whole = (description: string) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], description: `${description}; null while unknown.` })
const rate = (description: string) =>
  Type.Unsafe<number | null>({ type: ['number', 'null'], description: `${description}; null while unknown.` })
const word = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description: `${description}; null while unknown.` })

const TRAFFIC_7: Figures = {
  status: Type.String({
    description: 'Status in HAProxy, such as OPEN, UP, DOWN or MAINT; UNKNOWN while HAProxy does not answer.',
  }),
  mode: word('http or tcp'),
  currentSessions: whole('Open sessions'),
  maxSessions: whole('Maximum of simultaneously open sessions'),
  sessionLimit: whole('Limit of simultaneously open sessions'),
  totalSessions: whole('Sessions since the start of the HAProxy process'),
  sessionRate: whole('New sessions in the last second'),
  sessionRateMax: whole('Maximum of new sessions in a second'),
  bytesIn: whole('Bytes from clients'),
  bytesOut: whole('Bytes to clients'),
}

const RESPONSES: Figures = {
  totalRequests: whole('HTTP requests'),
  responses1xx: whole('HTTP responses 100 to 199'),
  responses2xx: whole('HTTP responses 200 to 299'),
  responses3xx: whole('HTTP responses 300 to 399'),
  responses4xx: whole('HTTP responses 400 to 499'),
  responses5xx: whole('HTTP responses 500 to 599'),
  responsesOther: whole('HTTP responses with other codes'),
}

const REQUESTS_DENIED = whole('Requests denied by rules')
const RESPONSES_DENIED = whole('Responses denied by rules')

const SERVER_SIDE: Figures = {
  connectionErrors: whole('Failed connections to servers'),
  responseErrors: whole('Aborted or invalid responses of servers'),
  responsesDenied: RESPONSES_DENIED,
  retries: whole('Retried connections'),
  redispatches: whole('Requests redispatched to another server'),
  currentQueue: whole('Requests waiting for a server'),
  maxQueue: whole('Maximum of simultaneously waiting requests'),
  activeServers: whole('Active servers; for a server, 1 if it is active'),
  backupServers: whole('Backup servers; for a server, 1 if it is a backup'),
  weight: whole('Weight: share of the traffic'),
  lastChange: whole('Seconds since the last change between up and down'),
  downtime: whole('Total downtime in seconds'),
  queueTime: whole('Milliseconds in the queue, average of the last 1024 requests'),
  connectTime: whole('Milliseconds to connect, average of the last 1024 requests'),
  responseTime: whole('Milliseconds until the response, average of the last 1024 requests'),
  totalTime: whole('Milliseconds in total, average of the last 1024 requests'),
}

/** Figures from HAProxy, except for what was applied. */
export const LAYER_7_FIGURES: Readonly<Record<FigureKind, Figures>> = {
  frontend: {
    ...TRAFFIC_7,
    requestRate: whole('HTTP requests in the last second'),
    ...RESPONSES,
    requestErrors: whole('Aborted or invalid requests'),
    requestsDenied: REQUESTS_DENIED,
    responsesDenied: RESPONSES_DENIED,
  },
  backend: { ...TRAFFIC_7, ...RESPONSES, requestsDenied: REQUESTS_DENIED, ...SERVER_SIDE },
  server: {
    state: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      enum: ['online', 'drained', 'halted', null],
      description: 'Applied state or, for an observed HAProxy, the state that its status implies; null while unknown.',
    }),
    ...TRAFFIC_7,
    ...RESPONSES,
    ...SERVER_SIDE,
    checkStatus: word('Result of the last health check, such as L4OK or L7STS'),
    checkCode: whole('Code of the last health check'),
    checkDuration: whole('Duration of the last health check in milliseconds'),
    address: word('Address and port in use; for a host name, the resolved address; also null while it is not resolved'),
  },
}

const TRAFFIC_4: Figures = {
  connections: whole('Connections, 64 bits'),
  packetsIn: whole('Packets from clients, 64 bits'),
  packetsOut: whole('Packets to clients, 64 bits; also null if replies bypass the node (gate, ipip)'),
  bytesIn: whole('Bytes from clients, 64 bits'),
  bytesOut: whole('Bytes to clients, 64 bits; also null if replies bypass the node (gate, ipip)'),
  connectionsPerSecond: rate('New connections per second'),
  packetsInPerSecond: rate('Packets from clients per second'),
  packetsOutPerSecond: rate('Packets to clients per second'),
  bytesInPerSecond: rate('Bytes from clients per second'),
  bytesOutPerSecond: rate('Bytes to clients per second'),
}

/** Figures from the kernel's balancing table; those from the configuration come first. */
export const LAYER_4_FIGURES: Readonly<Record<FigureKind, Figures>> = {
  frontend: {
    ip: word('Address that clients connect to'),
    ports: word('Ports that clients connect to'),
    protocol: word('tcp or udp'),
    forwarding: word('gate, masq or ipip'),
    scheduler: word('Scheduling algorithm of the backend'),
    ...TRAFFIC_4,
  },
  backend: {
    realsTotal: Type.Integer({ description: 'Real servers of the backend.' }),
    realsDrained: Type.Integer({ description: 'Drained real servers.' }),
    realsHalted: Type.Integer({ description: 'Halted real servers.' }),
    ...TRAFFIC_4,
    realsUp: whole('Real servers that accept new connections; only if a frontend uses the backend'),
  },
  server: {
    state: Type.Union([RealServerState, Type.Null()], { description: 'Applied state.' }),
    ...TRAFFIC_4,
    activeConnections: whole('Established connections'),
    inactiveConnections: whole('Closing connections'),
    persistentConnections: whole('Clients that persist on the real server'),
    weight: whole('Weight: share of the traffic'),
    health: Health,
  },
}
