import { cutText } from '../../src/base/cut-text.ts'
import { COMBINED_HEADERS } from '../../src/drivers/haproxy/access-log.ts'
import { headersIn, type LogRow } from '../../storage/logs/row.ts'
import type { Way } from './line.ts'
import { type NameOf, shownFields } from '../../storage/logs/shown-fields.ts'

/** Facility local0, severity info. */
const PRIORITY = 134
/**
 * The size that receivers accept by default. rsyslog reads the rest of a longer message as another one, although its
 * length was given, so clients could forge messages.
 */
const BYTES_MAX = 8_192
/** Characters kept of each text from a client: the first limit that makes the message short enough. */
const CUTS = [512, 24] as const

export interface Sender {
  /** Name of this machine. */
  readonly hostname: string
  readonly nameOf: NameOf
}

/**
 * Formats a row as a message of RFC 5424 with its length before it (RFC 5425): ASCII only, without a byte that ends
 * anything. The frontend takes the place of the process, because Apache's format has none for it.
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

/** Formats JSON as printable ASCII. */
export const asciiJson = (value: object): string =>
  JSON.stringify(value).replaceAll(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** A line in Apache's combined format, with its escapes. */
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
  const short = (text: string) => cutText(text, characters_max)
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
