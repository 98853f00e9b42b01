import type { Filter } from '../../storage/logs/filter.ts'
import type { PlacedRow } from '../../storage/logs/row.ts'
import type { Cursor } from '../../storage/logs/search.ts'
import { shownFields } from '../../storage/logs/shown-fields.ts'
import { ApiError, type FieldError } from '../base/errors.ts'
import { isId } from '../base/ids.ts'
import { canonicalIp } from '../base/ip-network.ts'
import { nameKey } from '../base/name-key.ts'
import type { LogLine, LogQuery } from '../context/access-logs.ts'
import { type ConfigView, SECTIONS } from '../model/sections.ts'

/** Stands in lines for the fallback of a backend, which is a server without a record. */
const FALLBACK = 'fallback'

/** Translates a query for the store, which knows ids only; refuses values that no line can match. */
export function filterOf(query: LogQuery, running: ConfigView): Filter {
  const { start, end, frontendId, server, source, path, status, slowerThan } = query
  const errors: FieldError[] = []
  if (start !== undefined && end !== undefined && end < start)
    errors.push({ field: 'end', code: 'OUT_OF_RANGE', message: 'must not be before start' })
  const statuses = status === undefined ? undefined : statusesOf(status)
  if (statuses !== undefined && statuses.to < statuses.from)
    errors.push({ field: 'status', code: 'OUT_OF_RANGE', message: 'must not end before it begins' })
  const named = { running, errors }
  const filter = {
    from_ms: start === undefined ? undefined : start * 1000,
    to_ms: end === undefined ? undefined : end * 1000,
    frontend: frontendId === undefined ? undefined : idFor('frontendId', frontendId, 'l7Frontends', named),
    server: server === undefined || server === FALLBACK ? server : idFor('server', server, 'realServers', named),
    source: source === undefined ? undefined : writtenIp(source),
    path,
    statuses,
    slowerThan_ms: slowerThan,
  }
  if (errors.length > 0) throw refusal(errors)
  return filter
}

/** Returns an address as HAProxy writes it: in its shortest form, with the end of a mapped one in decimal numbers. */
function writtenIp(source: string): string {
  const shortest = canonicalIp(source)
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(shortest) ?? []
  if (high === undefined || low === undefined) return shortest
  const numbers = [high, low].flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff])
  return `::ffff:${numbers.join('.')}`
}

/** Returns an id as it is, because its record may be gone while lines remain, and for a current name its id. */
function idFor(
  field: string,
  said: string,
  section: 'l7Frontends' | 'realServers',
  { running, errors }: { readonly running: ConfigView; readonly errors: FieldError[] },
): string {
  if (isId(said) || running.get(section, said) !== undefined) return said
  const name = nameKey(said)
  const [only, ...others] = [...running.list(section)].filter((record) => nameKey(record.name) === name)
  const { label } = SECTIONS[section]
  if (only === undefined) {
    errors.push({ field, code: 'UNKNOWN_NAME', message: `does not name a running ${label}: there is no ${said}` })
    return said
  }
  if (others.length > 0)
    errors.push({ field, code: 'AMBIGUOUS_NAME', message: `names more than one ${label}: use an id` })
  return only.id
}

function refusal(errors: readonly FieldError[]): ApiError {
  const all = errors.map(({ field, message }) => `${field} ${message}`).join('; ')
  return new ApiError('INVALID_QUERY', all, { errors })
}

/** Parses `404`, `5xx` or `500-503`. */
function statusesOf(status: string): { readonly from: number; readonly to: number } {
  if (status.endsWith('xx')) return { from: Number(status[0]) * 100, to: Number(status[0]) * 100 + 99 }
  const [from, to = from] = status.split('-').map(Number)
  return { from: from ?? 0, to: to ?? 0 }
}

export const cursorText = ({ segment, index }: Cursor): string =>
  Buffer.from(`${segment}.${index}`).toString('base64url')

export function cursorOf(text: string): Cursor {
  const [, segment, index] = /^(\d{1,12})\.(\d{1,9})$/.exec(Buffer.from(text, 'base64url').toString()) ?? []
  if (segment !== undefined && index !== undefined) return { segment: Number(segment), index: Number(index) }
  const message = 'must be the value of `next` of the previous page'
  throw refusal([{ field: 'after', code: 'FORMAT', message }])
}

/** A line as the API returns it, with the current names of its records. */
export const shownLine = ({ segment, index, row }: PlacedRow, running: ConfigView): LogLine => ({
  id: `${segment}-${index}`,
  ...shownFields(row, (section, id) => running.get(section, id)?.name),
})
