import type { Filter } from '../../storage/logs/filter.ts'
import type { PlacedRow } from '../../storage/logs/row.ts'
import type { Cursor } from '../../storage/logs/search.ts'
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
export function shownLine({ segment, index, row }: PlacedRow, running: ConfigView): LogLine {
  const { at_ms, frontend, backend, server, request_ms, queue_ms, connect_ms, response_ms, total_ms, ...rest } = row
  const { headers, source, sourcePort, method, version, host, path, status, bytesIn, bytesOut, state } = rest
  return {
    id: `${segment}-${index}`,
    time: new Date(at_ms).toISOString(),
    frontendId: frontend,
    frontendName: running.get('l7Frontends', frontend)?.name ?? null,
    backendId: backend === '' ? null : backend,
    backendName: running.get('l7Backends', backend)?.name ?? null,
    serverId: server === '' ? null : server,
    serverName: running.get('realServers', server)?.name ?? null,
    source,
    sourcePort,
    method,
    host,
    path,
    httpVersion: version,
    status,
    bytesIn,
    bytesOut,
    requestTime: measured(request_ms),
    queueTime: measured(queue_ms),
    connectTime: measured(connect_ms),
    responseTime: measured(response_ms),
    totalTime: measured(total_ms),
    state,
    // Sound: the log thread writes an object of texts.
    headers: JSON.parse(headers) as Record<string, string>,
  }
}

const measured = (time_ms: number): number | null => (time_ms < 0 ? null : time_ms)
