import { effect, signal } from '@preact/signals'
import { daemonNow_ms } from './clock.ts'
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

const numbers = new Map<string, Intl.NumberFormat>()
const numberFormat = (options: Intl.NumberFormatOptions): Intl.NumberFormat => {
  const key = `${locale()} ${JSON.stringify(options)}`
  const known = numbers.get(key) ?? new Intl.NumberFormat(locale(), options)
  numbers.set(key, known)
  return known
}

export const number = (value: number): string => numberFormat({ maximumFractionDigits: 1 }).format(value)

/** A figure in few characters; a dash where nobody knows it. */
export function short(value: unknown): string {
  return typeof value === 'number'
    ? numberFormat({ notation: 'compact', maximumFractionDigits: Math.abs(value) < 10 ? 1 : 0 }).format(value)
    : '–'
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const
export function bytes(value: unknown): string {
  if (typeof value !== 'number') return '–'
  let [left, unit] = [value, 0]
  while (Math.abs(left) >= 1000 && unit < UNITS.length - 1) {
    left /= 1000
    unit += 1
  }
  return `${numberFormat({ maximumFractionDigits: left < 10 && unit > 0 ? 1 : 0 }).format(left)} ${UNITS[unit]}`
}

export const moment = (iso: string | number): string =>
  new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(iso))
export const day = (iso: string | number): string =>
  new Intl.DateTimeFormat(locale(), { dateStyle: 'medium' }).format(new Date(iso))
export const clock = (iso: string | number): string =>
  new Intl.DateTimeFormat(locale(), { timeStyle: 'medium' }).format(new Date(iso))

export const hour = (iso: string | number): string =>
  new Intl.DateTimeFormat(locale(), { timeStyle: 'short' }).format(new Date(iso))

const SPANS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
]
/** "3 minutes ago", in a word or two. */
export function ago(iso: string, now_ms = daemonNow_ms()): string {
  const seconds = Math.round((Date.parse(iso) - now_ms) / 1000)
  const [unit, length] = SPANS.find(([, one]) => Math.abs(seconds) >= one) ?? ['second', 1]
  return new Intl.RelativeTimeFormat(locale(), { numeric: 'auto', style: 'short' }).format(
    Math.round(seconds / length),
    unit,
  )
}
