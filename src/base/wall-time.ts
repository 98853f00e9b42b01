/** Wall times of time zones, as text: neither the zone nor the clock of this process matters. */

const ISO = /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?$/i
/** Years that timedatectl and the archive accept. */
const [YEAR_MIN, YEAR_MAX] = [1971, 2105]

/**
 * Returns date and time of an ISO 8601 text without its offset, as YYYY-MM-DD HH:MM:SS; undefined if it is not one, or
 * not a date of the calendar.
 */
export function wallTimeOf(text: string): string | undefined {
  const parts = ISO.exec(text)
    ?.slice(1)
    .map((part) => Number(part ?? 0))
  if (parts === undefined) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts
  if (year < YEAR_MIN || year > YEAR_MAX) return undefined
  const date = new Date(Date.UTC(year, month - 1, day, hour, minute, second))
  const whole = date.toISOString().slice(0, 19).replace('T', ' ')
  const sent = [year, month, day, hour, minute, second].map((part) => String(part).padStart(2, '0'))
  const [Y, M, D, h, m, s] = sent
  return whole === `${Y}-${M}-${D} ${h}:${m}:${s}` ? whole : undefined
}

/** Returns a time in a time zone, as ISO 8601 with offset. In UTC if the zone is unknown here. */
export function isoInZone(at_ms: number, zone: string): string {
  const whole_ms = Math.floor(at_ms / 1000) * 1000
  const offset_min = Math.round((localAsUtc(whole_ms, zone) - whole_ms) / 60_000)
  const local = new Date(whole_ms + offset_min * 60_000).toISOString().slice(0, 19)
  const size = Math.abs(offset_min)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${local}${offset_min < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
}

function localAsUtc(at_ms: number, timeZone: string): number {
  let format: Intl.DateTimeFormat
  try {
    format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
  } catch {
    return at_ms
  }
  // Swedish writes dates as ISO 8601 does.
  return Date.parse(`${format.format(at_ms).replace(' ', 'T')}Z`)
}
