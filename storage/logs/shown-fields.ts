import { headersIn, type LogRow } from './row.ts'

/** Returns the current name of a record by its id; undefined when it is gone. */
export type NameOf = (section: 'l7Frontends' | 'l7Backends' | 'realServers', id: string) => string | undefined

/** A row as it is answered, and sent to a syslog server. */
export function shownFields(row: LogRow, nameOf: NameOf) {
  const { at_ms, frontend, backend, server, request_ms, queue_ms, connect_ms, response_ms, total_ms, ...rest } = row
  const { source, sourcePort, method, version, host, path, status, bytesIn, bytesOut, state } = rest
  return {
    time: new Date(at_ms).toISOString(),
    frontendId: frontend,
    frontendName: nameOf('l7Frontends', frontend) ?? null,
    backendId: backend === '' ? null : backend,
    backendName: nameOf('l7Backends', backend) ?? null,
    serverId: server === '' ? null : server,
    serverName: nameOf('realServers', server) ?? null,
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
    headers: headersIn(row),
  }
}

const measured = (time_ms: number): number | null => (time_ms < 0 ? null : time_ms)
