import { effect, signal } from '@preact/signals'
import { daemonNow_ms } from './clock.ts'
import { elapsed, formatsOf } from './formats.ts'
import { language } from './settings.ts'

/** Texts in the language of the page. English texts are their own keys; the others are in a file of their language. */

const catalogue = signal<Readonly<Record<string, string>>>({})

effect(() => {
  if (language.value === 'en') catalogue.value = {}
  else
    void import('../text/de.ts').then(
      ({ german }) => (catalogue.value = german),
      // English says the same.
      () => undefined,
    )
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

/** Chromium takes `en-US@posix` from the surroundings of a kiosk, and throws where it is to write a date by it. */
function isLocale(name: string): boolean {
  try {
    return Intl.getCanonicalLocales(name).length === 1
  } catch {
    return false
  }
}

/** British or American, Swiss or Austrian, as the browser says. */
const locale = (): string =>
  navigator.languages.find((one) => one.startsWith(language.value) && isLocale(one)) ?? language.value

export const { number, short, bytes, moment, brief, day, clock, hour } = formatsOf(locale)

/** "3 min ago", by the clock of the daemon. The browser's own words for it take thirty milliseconds to load. */
export function ago(iso: string): string {
  const { unit, count } = elapsed((daemonNow_ms() - Date.parse(iso)) / 1000)
  if (unit === 's') return count < 1 ? t('now') : t('{count} s ago', { count })
  if (unit === 'min') return t('{count} min ago', { count })
  if (unit === 'h') return t('{count} h ago', { count })
  return count === 1 ? t('yesterday') : t('{count} days ago', { count })
}
