import { ascii } from '../base/json-buffer.ts'

/** One live figure: its name in answers, HAProxy's column, and whether the column is text. */
export interface LiveField {
  readonly name: string
  readonly column: string
  readonly text?: true
}

const STATE: readonly LiveField[] = [
  { name: 'status', column: 'status', text: true },
  { name: 'mode', column: 'mode', text: true },
]

const TRAFFIC: readonly LiveField[] = [
  { name: 'currentSessions', column: 'scur' },
  { name: 'maxSessions', column: 'smax' },
  { name: 'sessionLimit', column: 'slim' },
  { name: 'totalSessions', column: 'stot' },
  { name: 'sessionRate', column: 'rate' },
  { name: 'sessionRateMax', column: 'rate_max' },
  { name: 'bytesIn', column: 'bin' },
  { name: 'bytesOut', column: 'bout' },
]

const RESPONSES: readonly LiveField[] = [
  { name: 'totalRequests', column: 'req_tot' },
  { name: 'responses1xx', column: 'hrsp_1xx' },
  { name: 'responses2xx', column: 'hrsp_2xx' },
  { name: 'responses3xx', column: 'hrsp_3xx' },
  { name: 'responses4xx', column: 'hrsp_4xx' },
  { name: 'responses5xx', column: 'hrsp_5xx' },
  { name: 'responsesOther', column: 'hrsp_other' },
]

const SERVER_SIDE: readonly LiveField[] = [
  { name: 'connectionErrors', column: 'econ' },
  { name: 'responseErrors', column: 'eresp' },
  { name: 'responsesDenied', column: 'dresp' },
  { name: 'retries', column: 'wretr' },
  { name: 'redispatches', column: 'wredis' },
  { name: 'currentQueue', column: 'qcur' },
  { name: 'maxQueue', column: 'qmax' },
  { name: 'activeServers', column: 'act' },
  { name: 'backupServers', column: 'bck' },
  { name: 'weight', column: 'weight' },
  { name: 'lastChange', column: 'lastchg' },
  { name: 'downtime', column: 'downtime' },
  { name: 'queueTime', column: 'qtime' },
  { name: 'connectTime', column: 'ctime' },
  { name: 'responseTime', column: 'rtime' },
  { name: 'totalTime', column: 'ttime' },
]

/** HAProxy's figures for each type of object. */
export const LIVE_FIELDS = {
  frontend: [
    ...STATE,
    ...TRAFFIC,
    { name: 'requestRate', column: 'req_rate' },
    ...RESPONSES,
    { name: 'requestErrors', column: 'ereq' },
    { name: 'requestsDenied', column: 'dreq' },
    { name: 'responsesDenied', column: 'dresp' },
  ],
  backend: [...STATE, ...TRAFFIC, ...RESPONSES, { name: 'requestsDenied', column: 'dreq' }, ...SERVER_SIDE],
  server: [
    ...STATE,
    ...TRAFFIC,
    ...RESPONSES,
    ...SERVER_SIDE,
    { name: 'checkStatus', column: 'check_status', text: true },
    { name: 'checkCode', column: 'check_code' },
    { name: 'checkDuration', column: 'check_duration' },
    { name: 'address', column: 'addr', text: true },
  ],
} as const satisfies Readonly<Record<'frontend' | 'backend' | 'server', readonly LiveField[]>>

export type LiveKind = keyof typeof LIVE_FIELDS

/** Writes the figures of an object that HAProxy does not list, or of all when it does not answer. */
function unknownFigures(kind: LiveKind): Uint8Array {
  return ascii(LIVE_FIELDS[kind].map(({ name }) => `,"${name}":${name === 'status' ? '"UNKNOWN"' : 'null'}`).join(''))
}

export const UNKNOWN_FIGURES = {
  frontend: unknownFigures('frontend'),
  backend: unknownFigures('backend'),
  server: unknownFigures('server'),
} as const satisfies Record<LiveKind, Uint8Array>
