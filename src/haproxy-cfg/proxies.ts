import type { Line } from './lines.ts'
import { linesOf } from './lines.ts'
import { entryOf, type Reading } from './reading.ts'

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
  const inherited = (more: readonly string[]) => (more[0] === 'from' ? named.get(more[1] ?? '') : undefined)
  let [defaults, count]: [Line[], number] = [[], 0]
  const begin: Readonly<Record<string, (line: Line) => (inside: Line) => unknown>> = {
    global: () => (inside) => global.push(inside),
    defaults: ({ words: [, name = '', ...more] }) => {
      const own = [...(inherited(more) ?? [])]
      ;[defaults, count] = [own, count + 1]
      if (name !== '') named.set(name, own)
      return (inside) => [own.push(inside), all.push(inside)]
    },
  }
  const beginProxy = ({ words: [kind, name = '', ...more] }: Line) => {
    const lines: Line[] = []
    proxies.push({ kind: kind as Proxy['kind'], name, lines, defaults: inherited(more) ?? defaults })
    return (inside: Line) => lines.push(inside)
  }
  const beginOther = (line: Line) => {
    const [section = '', name = ''] = line.words
    reading.leave(line, `there is no counterpart of a section ${section}`)
    return (inside: Line) => reading.leave(inside, `it is of the section ${section} ${name}`.trimEnd())
  }
  let take: (inside: Line) => unknown = (line) => reading.leave(line, 'it stands before any section')
  let depth = 0
  for (const line of linesOf(text)) {
    const [word = ''] = line.words
    if (word === '.if') depth += 1
    if (depth > 0 || word.startsWith('.')) {
      reading.leave(line, 'what depends on where HAProxy runs has no counterpart')
      if (word === '.endif') depth -= 1
      continue
    }
    const opened = entryOf(begin, word) ?? (PROXIES.has(word) ? beginProxy : OTHERS.has(word) ? beginOther : undefined)
    if (opened === undefined) take(line)
    else take = opened(line)
  }
  return { global, defaults: all, isOneDefault: count < 2, proxies }
}
