import { isForwarded, isLogged, type LogSetting } from '../../model/access-log.ts'
import type { L7Frontend } from '../../model/layer7.ts'

/** Beginning of every access line; tells its format and origin. */
export const LINE_MARK = 'fulcrum1'
export const COMBINED_HEADERS = ['Referer', 'User-Agent'] as const

/** Ring in which lines wait for the daemon, which reads them over the command socket: record 129. */
export const LOG_RING = 'fulcrum-logs'
const RING_BYTES = 16 * 1024 * 1024
/**
 * HAProxy cuts off the end of a longer line, which is the last headers. `show events` would skip a line that does not
 * fit into a buffer (`tune.bufsize`, 16 KiB) with its line feed.
 */
const LINE_BYTES_MAX = 16_383
const PATH_BYTES_MAX = 4_096
const HOST_BYTES_MAX = 256
const HEADER_BYTES_MAX = 1_024

export const ringStatements: readonly string[] = [
  `ring ${LOG_RING}`,
  '    format raw',
  `    maxlen ${LINE_BYTES_MAX}`,
  `    size ${RING_BYTES}`,
]

const VARIABLE = 'txn.fulcrum_log'

/**
 * Returns the first word of a line. It names the destination, even if the frontend's settings have changed when the
 * line is read.
 */
function markOf(logs: LogSetting): string {
  const { target, format = 'structured' } = logs
  return isForwarded(logs) ? `${LINE_MARK},${target},${format}` : LINE_MARK
}

/** Returns the logged headers; the format of Apache always includes its own. */
function headersOf({ format, headers = [] }: LogSetting): readonly string[] {
  if (format !== 'combined') return headers
  const named = new Set(headers.map((name) => name.toLowerCase()))
  return [...headers, ...COMBINED_HEADERS.filter((name) => !named.has(name.toLowerCase()))]
}

/**
 * Text from clients is in base64, so that none of its bytes ends a word or a line. It is captured when the request
 * arrives, before rules change it. `workers/logs/line.ts` parses these lines.
 */
export function logStatements({ mode, logs }: L7Frontend): readonly string[] {
  if (mode !== 'http' || logs === undefined || !isLogged(logs)) return []
  const { sample = 1 } = logs
  const headers = headersOf(logs)
  const keep = (name: string, fetch: string, bytes_max: number) =>
    `http-request set-var(${VARIABLE}_${name}) ${fetch},bytes(0,${bytes_max}),base64`
  const words = [
    `${markOf(logs)} %pid %lc %f %Ts %ms %Th %Ti %TR %Tw %Tc %Tr %Ta %b %s %ci %cp %ST %B %U %tsc %HM HTTP/%[var(${VARIABLE}_version)]`,
    `%[var(${VARIABLE}_host)] %[var(${VARIABLE}_path)]`,
    ...headers.map((name, at) => `${name}=%[var(${VARIABLE}_h${at})]`),
  ]
  return [
    `log ring@${LOG_RING} len ${LINE_BYTES_MAX} format raw local0`,
    'option dontlognull',
    ...(sample > 1 ? [`http-request set-log-level silent if { rand(${sample}) gt 0 }`] : []),
    // %HV reads the first 1,023 bytes of a request line, and takes a longer one for HTTP/0.9.
    `http-request set-var(${VARIABLE}_version) req.ver`,
    keep('host', 'req.fhdr(host)', HOST_BYTES_MAX),
    keep('path', 'pathq', PATH_BYTES_MAX),
    ...headers.map((name, at) => keep(`h${at}`, `req.fhdr(${name})`, HEADER_BYTES_MAX)),
    `log-format "${words.join(' ')}"`,
  ]
}
