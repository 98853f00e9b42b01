import { LINE_MARK } from '../../src/drivers/haproxy/access-log.ts'
import { type LogRow, NUMBERS } from '../../storage/logs/row.ts'
import { maskHeader, maskParameters } from './masking.ts'

/** Which line of its process it is: HAProxy counts those of each frontend. */
export interface LineNumber {
  readonly pid: number
  readonly frontend: string
  readonly number: number
}

/** Where a line goes, which HAProxy was told when it was started. */
export interface Way {
  readonly isStored: boolean
  /** How it reads at the syslog server; undefined when it does not go there. */
  readonly format: 'structured' | 'combined' | undefined
}
/** Words before the headers. */
const WORDS = 24

/** undefined for what is no line of ours, such as what HAProxy itself says there. */
export function numberOf(words: readonly string[]): LineNumber | undefined {
  const [mark, pid, number, frontend] = words
  if (mark?.split(',', 1)[0] !== LINE_MARK || frontend === undefined) return undefined
  const read = { pid: Number(pid), frontend, number: Number(number) }
  return Number.isInteger(read.pid) && Number.isInteger(read.number) ? read : undefined
}

/** The kind that the first word of a line says. */
export function wayOf(mark = ''): Way {
  const [, target, format] = mark.split(',')
  if (target === undefined) return { isStored: true, format: undefined }
  return { isStored: target !== 'syslog', format: format === 'combined' ? format : 'structured' }
}

/**
 * A line as the log-format in `src/drivers/haproxy/access-log.ts` writes it. What clients sent is base64 there, so no
 * byte of theirs is taken for anything else; what is no UTF-8 becomes U+FFFD. undefined when the line is cut off.
 */
export function rowOf(words: readonly string[]): LogRow | undefined {
  if (words.length < WORDS + 1) return undefined
  const word = (at: number, nothing?: string) => (words[at] === nothing ? '' : (words[at] ?? ''))
  const number = (at: number) => Number(words[at])
  const total_ms = number(12)
  const row: LogRow = {
    // %Ts and %ms are when the connection was there; handshakes and what was idle before the request follow.
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
    version: word(22, BAD_REQUEST),
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

const textOf = (word: string): string => (word === '-' ? '' : Buffer.from(word, 'base64').toString())

/** Each word is `Name=value`; a header that the request did not have is left out. */
function headersOf(words: readonly string[]): string {
  const headers: Record<string, string> = {}
  for (const word of words) {
    const end = word.indexOf('=')
    const [name, value] = [word.slice(0, end), word.slice(end + 1)]
    if (end > 0 && value !== '-' && value !== '') headers[name] = maskHeader(name, textOf(value))
  }
  return JSON.stringify(headers)
}
