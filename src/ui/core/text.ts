import { effect, signal } from '@preact/signals'
import { daemonNow_ms } from './clock.ts'
import { formatsOf } from './formats.ts'
import { language } from './settings.ts'

/** Texts in the language of the page. English texts are their own keys; the others are in a file of their language. */

const catalogue = signal<Readonly<Record<string, string>>>({})

effect(() => {
  if (language.value === 'en') catalogue.value = {}
  else void import('../text/de.ts').then(({ german }) => (catalogue.value = german))
})

const PLACE = /\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g
type Values = Readonly<Record<string, string | number>>

/** `{name}` in the text stands for a value, `{count:server|servers}` for a number of something. */
export function t(english: string, values: Values = {}): string {
  const text = catalogue.value[english] ?? english
  return text.replaceAll(PLACE, (whole, name: string, one?: string, many?: string) => {
    const value = values[name]
    if (value === undefined) return whole
    const shown = typeof value === 'number' ? number(value) : value
    return one === undefined ? shown : `${shown} ${value === 1 ? one : (many ?? one)}`
  })
}

/** British or American, Swiss or Austrian, as the browser says. */
const locale = (): string => navigator.languages.find((one) => one.startsWith(language.value)) ?? language.value

export const { number, short, bytes, moment, day, clock, hour } = formatsOf(locale)

const [MINUTE_S, HOUR_S, DAY_S] = [60, 3_600, 86_400] as const

/** "3 min ago", by the clock of the daemon. The browser's own words for it take thirty milliseconds to load. */
export function ago(iso: string): string {
  const seconds = Math.round((daemonNow_ms() - Date.parse(iso)) / 1000)
  if (seconds < 1) return t('now')
  if (seconds < MINUTE_S) return t('{count} s ago', { count: seconds })
  if (seconds < HOUR_S) return t('{count} min ago', { count: Math.round(seconds / MINUTE_S) })
  if (seconds < DAY_S) return t('{count} h ago', { count: Math.round(seconds / HOUR_S) })
  const days = Math.round(seconds / DAY_S)
  return days === 1 ? t('yesterday') : t('{count} days ago', { count: days })
}
