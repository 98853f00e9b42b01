import { effect, signal } from '@preact/signals'
import { keep, kept } from './kept.ts'

/** Settings that the user chose for this browser. */

export type Theme = 'system' | 'light' | 'dark'
export type Language = 'en' | 'de'

const THEMES: ReadonlySet<string> = new Set(['system', 'light', 'dark'])

const themeOf = (text: string): Theme => (THEMES.has(text) ? (text as Theme) : 'system')
const languageOf = (text: string): Language =>
  text === 'en' || text === 'de' ? text : navigator.language.startsWith('de') ? 'de' : 'en'

export const theme = signal<Theme>(themeOf(kept('theme')))
export const language = signal<Language>(languageOf(kept('language')))

effect(() => {
  document.documentElement.dataset['theme'] = theme.value
  keep('theme', theme.value)
})
effect(() => {
  document.documentElement.lang = language.value
  keep('language', language.value)
})
