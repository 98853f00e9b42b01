import { effect, signal } from '@preact/signals'

/** What a person chose for this browser. */

export type Theme = 'system' | 'light' | 'dark'
export type Language = 'en' | 'de'

const THEMES: ReadonlySet<string> = new Set(['system', 'light', 'dark'])

/** A browser may refuse to keep anything. */
function kept(name: string): string {
  try {
    return localStorage.getItem(name) ?? ''
  } catch {
    return ''
  }
}
function keep(name: string, value: string): void {
  try {
    localStorage.setItem(name, value)
  } catch {
    // It is asked for again next time.
  }
}

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
