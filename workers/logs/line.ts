import { LINE_MARK } from '../../src/drivers/haproxy/access-log.ts'
import { type LogRow, NUMBERS } from '../../storage/logs/row.ts'
import { maskHeader, maskParameters } from './masking.ts'

/** The number of a line in its process: HAProxy counts the lines of each frontend. */
export interface LineNumber {
  readonly pid: number
  readonly frontend: string
  readonly number: number
}

/** The destination of a line, which HAProxy got when it was started. */
export interface Way {
  readonly isStored: boolean
  /** Format at the syslog server; undefined for lines that are not forwarded. */
  readonly format: 'structured' | 'combined' | undefined
}
/** Words before the headers. */
const WORDS = 24

/** Returns undefined for anything but an access line, such as HAProxy's own messages. */
export function numberOf(words: readonly string[]): LineNumber | undefined {
  const [mark, pid, number, frontend] = words
  if (mark?.split(',', 1)[0] !== LINE_MARK || frontend === undefined) return undefined
  const read = { pid: Number(pid), frontend, number: Number(number) }
  return Number.isInteger(read.pid) && Number.isInteger(read.number) ? read : undefined
}

/** Returns the destination that the first word of a line names. */
export function wayOf(mark = ''): Way {
  const [, target, format] = mark.split(',')
  if (target === undefined) return { isStored: true, format: undefined }
  return { isStored: target !== 'syslog', format: format === 'combined' ? format : 'structured' }
}

/**
 * Parses a line in the log-format of `src/drivers/haproxy/access-log.ts`. Text from clients is base64 there, so none of
 * its bytes can be misread; invalid UTF-8 becomes U+FFFD. Returns undefined when the line is cut off.
 */
export function rowOf(words: readonly string[]): LogRow | undefined {
  if (words.length < WORDS + 1) return undefined
  const word = (at: number, nothing?: string) => (words[at] === nothing ? '' : (words[at] ?? ''))
  const number = (at: number) => Number(words[at])
  const total_ms = number(12)
  const row: LogRow = {
    // %Ts and %ms are the time at which the connection was accepted; handshakes and the idle time before the request
    // are added.
    at_ms: [number(4) * 1000, number(5), number(6), number(7), total_ms].reduce(
      (sum, part) => sum + Math.max(0, part),
      0,
    ),
    frontend: word(3),
    backend: word(13, words[3]),
    server: word(14, '<NOSRV>'),
    source: word(15),
    sourcePort: number(16),
    status: number(17),
    bytesOut: number(18),
    bytesIn: number(19),
    state: word(20),
    method: word(21, BAD_REQUEST),
    version: VERSION.test(word(22)) ? word(22) : '',
    host: textOf(word(23)),
    path: maskParameters(textOf(word(24))),
    request_ms: number(8),
    queue_ms: number(9),
    connect_ms: number(10),
    response_ms: number(11),
    total_ms,
    headers: headersOf(words.slice(25)),
  }
  return NUMBERS.every((column) => Number.isSafeInteger(row[column])) ? row : undefined
}

const BAD_REQUEST = '<BADREQ>'
/** Invalid requests have none. */
const VERSION = /^HTTP\/\d/

const textOf = (word: string): string => (word === '-' ? '' : Buffer.from(word, 'base64').toString())

/** Each word is `Name=value`; headers that the request did not have are left out. */
function headersOf(words: readonly string[]): string {
  const headers: Record<string, string> = {}
  for (const word of words) {
    const end = word.indexOf('=')
    const [name, value] = [word.slice(0, end), word.slice(end + 1)]
    if (end > 0 && value !== '-' && value !== '') headers[name] = maskHeader(name, textOf(value))
  }
  return JSON.stringify(headers)
}
