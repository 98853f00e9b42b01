import type { Filter } from '../../storage/logs/filter.ts'
import type { PlacedRow } from '../../storage/logs/row.ts'
import type { Cursor } from '../../storage/logs/search.ts'
import { shownFields } from '../../storage/logs/shown-fields.ts'
import { ApiError } from '../base/errors.ts'
import type { LogLine, LogQuery } from '../context/access-logs.ts'
import type { ConfigView } from '../model/sections.ts'

/** What a query means to the store. */
export function filterOf({ start, end, frontendId, server, source, path, status, slowerThan }: LogQuery): Filter {
  return {
    from_ms: start === undefined ? undefined : start * 1000,
    to_ms: end === undefined ? undefined : end * 1000,
    frontend: frontendId,
    server,
    source,
    path,
    statuses: status === undefined ? undefined : statusesOf(status),
    slowerThan_ms: slowerThan,
  }
}

/** `404`, `5xx` or `500-503`. */
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
  const message = 'must be what `next` of the page before was'
  throw new ApiError('INVALID_QUERY', `after ${message}`, { errors: [{ field: 'after', code: 'FORMAT', message }] })
}

/** A line as it is answered, with the names that its records have now. */
export const shownLine = ({ segment, index, row }: PlacedRow, running: ConfigView): LogLine => ({
  id: `${segment}-${index}`,
  ...shownFields(row, (section, id) => running.get(section, id)?.name),
})
