/** Numbers and times in the notation of the user's country. */

/** Whole numbers below this look alike in every language of the page. */
const PLAIN_BELOW = 1_000
const isPlain = (value: number): boolean => Number.isInteger(value) && value >= 0 && value < PLAIN_BELOW

/** Thousands and decimal separators. Asking the browser for them takes long, as it loads the data of a language. */
const MARKS: Readonly<Record<string, readonly [string, string] | undefined>> = {
  en: [',', '.'],
  'en-GB': [',', '.'],
  'en-US': [',', '.'],
  de: ['.', ','],
  'de-DE': ['.', ','],
}
/** Larger numbers are not written out digit by digit. */
const DIGITS_BELOW = 1e21

/** Splits digits into groups of three, from the right. */
function inThousands(digits: string): readonly string[] {
  const first = digits.length % 3
  const groups = first === 0 ? [] : [digits.slice(0, first)]
  for (let at = first; at < digits.length; at += 3) groups.push(digits.slice(at, at + 3))
  return groups
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const
type Moment = string | number

/** `locale` is called each time, because the user may choose another language. */
export function formatsOf(locale: () => string) {
  /** Creating a formatter takes milliseconds of the first screen, so each is created on first use, once per locale. */
  const kept = <T>(make: (locale: string) => T): (() => T) => {
    const made = new Map<string, T>()
    return () => {
      const known = made.get(locale()) ?? make(locale())
      made.set(locale(), known)
      return known
    }
  }
  const whole = kept((one) => new Intl.NumberFormat(one, { maximumFractionDigits: 0 }))
  const decimal = kept((one) => new Intl.NumberFormat(one, { maximumFractionDigits: 1 }))
  const compact = kept((one) => new Intl.NumberFormat(one, { notation: 'compact', maximumFractionDigits: 0 }))
  const moments = kept((one) => new Intl.DateTimeFormat(one, { dateStyle: 'medium', timeStyle: 'medium' }))
  const days = kept((one) => new Intl.DateTimeFormat(one, { dateStyle: 'medium' }))
  const clocks = kept((one) => new Intl.DateTimeFormat(one, { timeStyle: 'medium' }))
  const briefs = kept(
    (one) => new Intl.DateTimeFormat(one, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' }),
  )
  const hours = kept((one) => new Intl.DateTimeFormat(one, { timeStyle: 'short' }))

  const number = (value: number): string => {
    if (isPlain(value)) return `${value}`
    const marks = MARKS[locale()]
    if (marks === undefined || !(Math.abs(value) < DIGITS_BELOW)) return decimal().format(value)
    const [large = '', tenths] = (Math.round(Math.abs(value) * 10) / 10).toFixed(1).split('.')
    const grouped = `${value < 0 ? '-' : ''}${inThousands(large).join(marks[0])}`
    return tenths === '0' ? grouped : `${grouped}${marks[1]}${tenths}`
  }
  /** One decimal below ten, none above. */
  const rounded = (value: number, large: () => Intl.NumberFormat): string => {
    if (Math.abs(value) < 10) return number(value)
    const near = Math.round(value)
    return isPlain(near) ? `${near}` : large().format(value)
  }
  return {
    number,
    /** Formats a figure in few characters; a dash if it is unknown. */
    short: (value: unknown): string => (typeof value === 'number' ? rounded(value, compact) : '–'),
    bytes: (value: unknown): string => {
      if (typeof value !== 'number') return '–'
      let [left, unit] = [Math.round(value), 0]
      while (Math.abs(left) >= 1000 && unit < UNITS.length - 1) {
        left /= 1000
        unit += 1
      }
      return `${rounded(left, whole)} ${UNITS[unit]}`
    },
    moment: (at: Moment): string => moments().format(new Date(at)),
    /** For places without room for a year and seconds. */
    brief: (at: Moment): string => briefs().format(new Date(at)),
    day: (at: Moment): string => days().format(new Date(at)),
    clock: (at: Moment): string => clocks().format(new Date(at)),
    hour: (at: Moment): string => hours().format(new Date(at)),
  }
}

const DIGITS_MAX = 20
/** Sorts "web 2" before "web 10", and ignores case. */
export const sortable = (text: string): string =>
  text.toLowerCase().replaceAll(/\d+/g, (digits) => digits.padStart(DIGITS_MAX, '0'))

const ASCII = /^[ -~]*$/
/** For sortable texts. A collator that knows all scripts takes twenty milliseconds to load. */
export function comparisonFor(texts: readonly string[]): (a: string, b: string) => number {
  if (texts.every((text) => ASCII.test(text))) return (a, b) => (a < b ? -1 : a > b ? 1 : 0)
  return (a, b) => a.localeCompare(b)
}

const [MINUTE_S, HOUR_S, DAY_S] = [60, 3_600, 86_400] as const

/** Returns the time in the largest unit of which it is at least one. Negative if the clock is ahead. */
export function elapsed(seconds: number): { readonly unit: 's' | 'min' | 'h' | 'd'; readonly count: number } {
  if (seconds < MINUTE_S) return { unit: 's', count: Math.floor(seconds) }
  if (seconds < HOUR_S) return { unit: 'min', count: Math.floor(seconds / MINUTE_S) }
  if (seconds < DAY_S) return { unit: 'h', count: Math.floor(seconds / HOUR_S) }
  return { unit: 'd', count: Math.floor(seconds / DAY_S) }
}
