import type { Line } from './lines.ts'
import { linesOf } from './lines.ts'
import type { Reading } from './reading.ts'

/** The sections of a file, with what they take over from `defaults`. */

export interface Proxy {
  readonly kind: 'frontend' | 'backend' | 'listen'
  readonly name: string
  readonly lines: readonly Line[]
  /** Lines of `defaults` before it; what it says itself wins. */
  readonly defaults: readonly Line[]
}

export interface Sections {
  readonly global: readonly Line[]
  readonly defaults: readonly Line[]
  /** Whether what `defaults` say is for all proxies. */
  readonly isOneDefault: boolean
  readonly proxies: readonly Proxy[]
}

const PROXIES: ReadonlySet<string> = new Set(['frontend', 'backend', 'listen'])
/** Sections that Fulcrum has no counterpart for. */
const OTHERS: ReadonlySet<string> = new Set([
  'peers',
  'resolvers',
  'userlist',
  'cache',
  'mailers',
  'program',
  'http-errors',
  'ring',
  'log-forward',
  'fcgi-app',
  'crt-store',
  'traces',
])

export function sectionsOf(text: string, reading: Reading): Sections {
  const [global, all, proxies]: [Line[], Line[], Proxy[]] = [[], [], []]
  const named = new Map<string, readonly Line[]>()
  let defaults: Line[] = []
  let count = 0
  let take = (line: Line): unknown => reading.leave(line, 'it stands before any section')
  for (const line of linesOf(text)) {
    const [word = '', name = '', ...more] = line.words
    if (word === 'global') take = (inside) => global.push(inside)
    else if (word === 'defaults') {
      const own: Line[] = [...(named.get(more[0] === 'from' ? (more[1] ?? '') : '') ?? [])]
      defaults = own
      count += 1
      if (name !== '') named.set(name, own)
      take = (inside) => [own.push(inside), all.push(inside)]
    } else if (PROXIES.has(word)) {
      const [lines, from]: [Line[], string | undefined] = [[], more[0] === 'from' ? more[1] : undefined]
      const inherited = from === undefined ? defaults : (named.get(from) ?? [])
      proxies.push({ kind: word as Proxy['kind'], name, lines, defaults: inherited })
      take = (inside) => lines.push(inside)
    } else if (OTHERS.has(word)) {
      reading.leave(line, `there is no counterpart of a section ${word}`)
      take = (inside) => reading.leave(inside, `it is of the section ${word} ${name}`.trimEnd())
    } else take(line)
  }
  return { global, defaults: all, isOneDefault: count < 2, proxies }
}
