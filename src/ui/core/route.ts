import { computed, signal } from '@preact/signals'
import type { SsoEnd } from './session.ts'
import { mayLeave } from './unsaved.ts'

/** The place within the page: `#/servers/ID?state=down`. The daemon knows only `/`. */
const PLACE = 'place'

/** Called before a login elsewhere, which returns to the start of the page. A browser may refuse to store anything. */
export function rememberPlace(): void {
  try {
    sessionStorage.setItem(PLACE, location.hash)
  } catch {
    // Without a stored place, the page continues at its start.
  }
}
function rememberedPlace(): string {
  try {
    return sessionStorage.getItem(PLACE) ?? ''
  } catch {
    return ''
  }
}

/**
 * Reads `#sso=CODE&via=oidc` or `#refused=WORD&by=oidc.callback`, and removes it from the address and the history at
 * once.
 */
function takeSsoEnd(): SsoEnd | undefined {
  const said = new URLSearchParams(location.hash.slice(1))
  const end = ssoEndIn((name) => said.get(name) ?? '')
  if (end !== undefined) history.replaceState(null, '', `${location.pathname}${rememberedPlace()}`)
  return end
}

function ssoEndIn(said: (name: string) => string): SsoEnd | undefined {
  const [code, via, refusal] = [said('sso'), said('via'), said('refused')]
  if (code !== '' && (via === 'saml' || via === 'oidc')) return { via, code }
  return refusal === '' ? undefined : { by: said('by'), code: refusal }
}

/** The result with which an identity provider's login has returned to the page. */
export const ssoEnd = takeSsoEnd()

const hash = signal(location.hash)
addEventListener('hashchange', () => {
  if (location.hash === hash.value) return
  if (mayLeave()) hash.value = location.hash
  else history.pushState(null, '', `${location.pathname}${hash.value}`)
})

export interface Route {
  readonly page: string
  readonly rest: readonly string[]
  readonly query: URLSearchParams
}

/** Decodes a part of an address, which users may type: text with broken encoding stays as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const route = computed((): Route => {
  const [path = '', query = ''] = hash.value.replace(/^#\/?/, '').split('?')
  const [page = '', ...rest] = path.split('/').map(decoded)
  return { page: page === '' ? 'overview' : page, rest, query: new URLSearchParams(query) }
})

export const hrefOf = (page: string, ...rest: readonly string[]): string =>
  `#/${[page, ...rest].map(encodeURIComponent).join('/')}`

export function goTo(href: string): void {
  location.hash = href
}

/** Changes the query without adding an entry to the history. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const { page, rest, query } = route.value
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') query.delete(name)
    else query.set(name, value)
  }
  const text = query.toString()
  history.replaceState(null, '', `${hrefOf(page, ...rest)}${text === '' ? '' : `?${text}`}`)
  hash.value = location.hash
}
