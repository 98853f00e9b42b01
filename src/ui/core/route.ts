import { computed, signal } from '@preact/signals'

/** Where the page is: `#/servers/ID?state=down`. The daemon knows of `/` only. */
const hash = signal(location.hash)
addEventListener('hashchange', () => (hash.value = location.hash))

export interface Route {
  readonly page: string
  readonly rest: readonly string[]
  readonly query: URLSearchParams
}

export const route = computed((): Route => {
  const [path = '', query = ''] = hash.value.replace(/^#\/?/, '').split('?')
  const [page = '', ...rest] = path.split('/').map(decodeURIComponent)
  return { page: page === '' ? 'overview' : page, rest, query: new URLSearchParams(query) }
})

export const hrefOf = (page: string, ...rest: readonly string[]): string =>
  `#/${[page, ...rest].map(encodeURIComponent).join('/')}`

export function goTo(href: string): void {
  location.hash = href
}

/** Changes what stands behind the question mark, without a new entry in the history. */
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
