import { effect, signal } from '@preact/signals'
import { daemonNow_ms } from './clock.ts'
import { elapsed, formatsOf } from './formats.ts'
import { language } from './settings.ts'

/** Texts in the language of the page. English texts are their own keys; each other language has its own file. */

const catalogue = signal<Readonly<Record<string, string>>>({})

effect(() => {
  if (language.value === 'en') catalogue.value = {}
  else
    void import('../text/de.ts').then(
      ({ german }) => (catalogue.value = german),
      // Without the file, the page stays in English.
      () => undefined,
    )
})

const PLACE = /\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g
type Values = Readonly<Record<string, string | number>>

/** `{name}` in the text stands for a value, `{count:server|servers}` for a number with its noun. */
export function t(english: string, values: Values = {}): string {
  const text = catalogue.value[english] ?? english
  return text.replaceAll(PLACE, (whole, name: string, one?: string, many?: string) => {
    const value = values[name]
    if (value === undefined) return whole
    const shown = typeof value === 'number' ? number(value) : value
    return one === undefined ? shown : `${shown} ${value === 1 ? one : (many ?? one)}`
  })
}

/** Chromium in a kiosk may take `en-US@posix` from the environment, and then throws when it formats a date. */
function isLocale(name: string): boolean {
  try {
    return Intl.getCanonicalLocales(name).length === 1
  } catch {
    return false
  }
}

/** Returns the regional variant, such as British or American English, that the browser prefers. */
const locale = (): string =>
  navigator.languages.find((one) => one.startsWith(language.value) && isLocale(one)) ?? language.value

export const { number, short, bytes, moment, brief, day, clock, hour } = formatsOf(locale)

/**
 * Formats "3 min ago" by the clock of the daemon. The browser's own function for that takes thirty milliseconds to
 * load.
 */
export function ago(iso: string): string {
  const { unit, count } = elapsed((daemonNow_ms() - Date.parse(iso)) / 1000)
  if (unit === 's') return count < 1 ? t('now') : t('{count} s ago', { count })
  if (unit === 'min') return t('{count} min ago', { count })
  if (unit === 'h') return t('{count} h ago', { count })
  return count === 1 ? t('yesterday') : t('{count} days ago', { count })
}
