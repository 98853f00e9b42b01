import { COMBINED_HEADERS } from '../../src/drivers/haproxy/access-log.ts'
import { headersIn, type LogRow } from '../../storage/logs/row.ts'
import type { Way } from './line.ts'
import { type NameOf, shownFields } from '../../storage/logs/shown-fields.ts'

/** local0, info. */
const PRIORITY = 134
/**
 * What a receiver takes without being told to. Of a longer message rsyslog takes the rest for one of its own, although
 * its length was told: clients could then write messages.
 */
const BYTES_MAX = 8_192
/** Characters of each text that a client has sent: the first of them with which the message is short enough. */
const CUTS = [512, 24] as const

export interface Sender {
  /** Name of this machine. */
  readonly hostname: string
  readonly nameOf: NameOf
}

/**
 * A row as a message of RFC 5424, with its length before it (RFC 5425): ASCII only, without a byte that ends something.
 * The frontend stands where a process would, as the line of Apache has no place for it.
 */
export function frameOf(row: LogRow, format: NonNullable<Way['format']>, { hostname, nameOf }: Sender): string {
  const time = new Date(row.at_ms).toISOString()
  const head = `<${PRIORITY}>1 ${time} ${hostname} fulcrum ${row.frontend} access - `
  const text = (one: LogRow) => head + (format === 'combined' ? combined(one, time) : structured(one, nameOf))
  let message = text(row)
  for (const characters_max of CUTS) if (message.length > BYTES_MAX) message = text(shortened(row, characters_max))
  return `${message.length} ${message}`
}

const structured = (row: LogRow, nameOf: NameOf): string => asciiJson(shownFields(row, nameOf))

/** JSON of printable ASCII. */
export const asciiJson = (value: object): string =>
  JSON.stringify(value).replaceAll(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** A line of Apache, with its escapes. */
function combined(row: LogRow, time: string): string {
  const { source, method, path, version, status, bytesOut } = row
  const [year, month, day] = time.slice(0, 10).split('-')
  const date = `${day}/${MONTHS[Number(month) - 1]}/${year}:${time.slice(11, 19)} +0000`
  const headers = new Map(Object.entries(headersIn(row)).map(([name, value]) => [name.toLowerCase(), value]))
  const request = method === '' ? '-' : escaped(`${method} ${path} ${version}`)
  const named = COMBINED_HEADERS.map((name) => `"${escaped(headers.get(name.toLowerCase()) ?? '-')}"`)
  return `${source} - - [${date}] "${request}" ${status < 0 ? '-' : status} ${bytesOut} ${named.join(' ')}`
}

const escaped = (text: string): string =>
  text.replaceAll(/["\\]|[^ -~]+/g, (some) =>
    some === '"' || some === '\\' ? `\\${some}` : Buffer.from(some).toString('hex').replaceAll(/../g, '\\x$&'),
  )

function shortened(row: LogRow, characters_max: number): LogRow {
  // Half of a surrogate pair is no text.
  const short = (text: string) => text.slice(0, characters_max).replace(/[\ud800-\udbff]$/, '')
  return {
    ...row,
    method: short(row.method),
    version: short(row.version),
    host: short(row.host),
    path: short(row.path),
    headers: JSON.stringify(
      Object.fromEntries(Object.entries(headersIn(row)).map(([name, value]) => [name, short(value)])),
    ),
  }
}
