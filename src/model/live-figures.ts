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
    description: 'Of HAProxy, such as OPEN, UP, DOWN or MAINT; UNKNOWN while it does not answer.',
  }),
  mode: word('http or tcp'),
  currentSessions: whole('Sessions that are open'),
  maxSessions: whole('Most sessions that were open at once'),
  sessionLimit: whole('Sessions that may be open at once'),
  totalSessions: whole('Sessions since the start of its process'),
  sessionRate: whole('New sessions in the last second'),
  sessionRateMax: whole('Most new sessions in a second'),
  bytesIn: whole('Bytes from clients'),
  bytesOut: whole('Bytes to clients'),
}

const RESPONSES: Figures = {
  totalRequests: whole('HTTP requests'),
  responses1xx: whole('HTTP answers 100 to 199'),
  responses2xx: whole('HTTP answers 200 to 299'),
  responses3xx: whole('HTTP answers 300 to 399'),
  responses4xx: whole('HTTP answers 400 to 499'),
  responses5xx: whole('HTTP answers 500 to 599'),
  responsesOther: whole('HTTP answers of other codes'),
}

const REQUESTS_DENIED = whole('Requests that rules refused')
const RESPONSES_DENIED = whole('Answers that rules refused')

const SERVER_SIDE: Figures = {
  connectionErrors: whole('Connections to servers that failed'),
  responseErrors: whole('Answers of servers that were broken off or invalid'),
  responsesDenied: RESPONSES_DENIED,
  retries: whole('Connections that were tried again'),
  redispatches: whole('Requests that were given to another server'),
  currentQueue: whole('Requests that wait for a server'),
  maxQueue: whole('Most requests that waited at once'),
  activeServers: whole('Servers in use; of a server, 1 when it is one'),
  backupServers: whole('Backup servers; of a server, 1 when it is one'),
  weight: whole('Share of the traffic'),
  lastChange: whole('Seconds since it was last up or down'),
  downtime: whole('Seconds that it was down'),
  queueTime: whole('Milliseconds in the queue, average of the last 1024 requests'),
  connectTime: whole('Milliseconds to connect, average of the last 1024 requests'),
  responseTime: whole('Milliseconds to the answer, average of the last 1024 requests'),
  totalTime: whole('Milliseconds in all, average of the last 1024 requests'),
}

/** Figures from HAProxy, except for what was applied. */
export const LAYER_7_FIGURES: Readonly<Record<FigureKind, Figures>> = {
  frontend: {
    ...TRAFFIC_7,
    requestRate: whole('HTTP requests in the last second'),
    ...RESPONSES,
    requestErrors: whole('Requests that were broken off or invalid'),
    requestsDenied: REQUESTS_DENIED,
    responsesDenied: RESPONSES_DENIED,
  },
  backend: { ...TRAFFIC_7, ...RESPONSES, requestsDenied: REQUESTS_DENIED, ...SERVER_SIDE },
  server: {
    state: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      enum: ['online', 'drained', 'halted', null],
      description: 'What was applied, or of an observed HAProxy what its status says; null while unknown.',
    }),
    ...TRAFFIC_7,
    ...RESPONSES,
    ...SERVER_SIDE,
    checkStatus: word('Of the last health check, such as L4OK or L7STS'),
    checkCode: whole('Code of the last health check'),
    checkDuration: whole('Milliseconds that the last health check took'),
    address: word('Address and port in use, of a host name what it is resolved to; also null while it is not'),
  },
}

const TRAFFIC_4: Figures = {
  connections: whole('Connections, of 64 bits'),
  packetsIn: whole('Packets from clients, of 64 bits'),
  packetsOut: whole('Packets to clients, of 64 bits; also null where replies bypass the node (gate, ipip)'),
  bytesIn: whole('Bytes from clients, of 64 bits'),
  bytesOut: whole('Bytes to clients, of 64 bits; also null where replies bypass the node (gate, ipip)'),
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
    scheduler: word('How the backend chooses a server'),
    ...TRAFFIC_4,
  },
  backend: {
    realsTotal: Type.Integer({ description: 'Real servers of the backend.' }),
    realsDrained: Type.Integer({ description: 'Real servers that are drained.' }),
    realsHalted: Type.Integer({ description: 'Real servers that are halted.' }),
    ...TRAFFIC_4,
    realsUp: whole('Real servers that take new connections, of a backend that a frontend uses'),
  },
  server: {
    state: Type.Union([RealServerState, Type.Null()], { description: 'As it is applied.' }),
    ...TRAFFIC_4,
    activeConnections: whole('Connections that are established'),
    inactiveConnections: whole('Connections that end'),
    persistentConnections: whole('Clients that stay with it'),
    weight: whole('Share of the traffic'),
    health: Health,
  },
}
