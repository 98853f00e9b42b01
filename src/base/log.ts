import { type Clock, systemClock } from './clock.ts'

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

/** One JSON object per line. Callers never pass secrets or request bodies. */
export interface Log {
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

/**
 * Limit of a field, in characters: text from outside may be of any length. Errors have a higher limit, so that the
 * stack of a defect fits.
 */
const FIELD_MAX = 512
const ERROR_FIELD_MAX = 16_384

export function createLog(write: (line: string) => void): Log {
  const line = (level: string, message: string, fields: LogFields | undefined) => {
    const max = level === 'error' ? ERROR_FIELD_MAX : FIELD_MAX
    const short = (_: string, value: unknown) => (typeof value === 'string' ? shortened(value, max) : value)
    write(`${JSON.stringify({ time: new Date().toISOString(), level, message, ...fields }, short)}\n`)
  }
  return {
    info: (message, fields) => line('info', message, fields),
    warn: (message, fields) => line('warn', message, fields),
    error: (message, fields) => line('error', message, fields),
  }
}

const shortened = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max)}… (${text.length} characters)`

export const silentLog: Log = createLog(() => undefined)

/** Lines of strangers that are written at once after a quiet time; then one per interval. */
const AT_ONCE = 100
const ONE_EVERY_MS = 1_000

/**
 * For lines that anybody can cause in any number: excess lines are only counted, and the next line has their number.
 */
export function strangersLog(log: Log, clock: Pick<Clock, 'monotonic_ms'> = systemClock): Log {
  let left = AT_ONCE
  let refilled_ms = clock.monotonic_ms()
  let leftOut = 0
  const limited =
    (level: keyof Log) =>
    (message: string, fields: LogFields = {}) => {
      const refill = Math.floor((clock.monotonic_ms() - refilled_ms) / ONE_EVERY_MS)
      refilled_ms += refill * ONE_EVERY_MS
      left = Math.min(AT_ONCE, left + refill)
      if (left === 0) {
        leftOut += 1
        return
      }
      left -= 1
      log[level](message, leftOut === 0 ? fields : { ...fields, leftOut })
      leftOut = 0
    }
  return { info: limited('info'), warn: limited('warn'), error: limited('error') }
}

/** Logs the origin of a defect of the daemon; for its log only. */
export function logDefect(log: Pick<Log, 'error'>, error: unknown, fields: LogFields): void {
  log.error('defect', { ...fields, detail: detailOf(error) })
}

/** Returns the stack of an error, if it has one. */
export const detailOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)
