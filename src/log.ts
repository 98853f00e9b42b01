export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

/** One JSON object a line. Callers never pass secrets or request bodies. */
export interface Log {
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

export function createLog(write: (line: string) => void): Log {
  const line = (level: string, message: string, fields: LogFields | undefined) =>
    write(`${JSON.stringify({ time: new Date().toISOString(), level, message, ...fields })}\n`)
  return {
    info: (message, fields) => line('info', message, fields),
    warn: (message, fields) => line('warn', message, fields),
    error: (message, fields) => line('error', message, fields),
  }
}

export const silentLog: Log = createLog(() => undefined)
