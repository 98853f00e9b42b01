import { faultOf, type Line, linesOf } from './lines.ts'
import { entryOf, type Reading } from './reading.ts'
import { leave } from './taken.ts'

/** The sections of a file, with the lines they inherit from `defaults`. */

export interface Proxy {
  readonly kind: 'frontend' | 'backend' | 'listen'
  readonly name: string
  readonly lines: readonly Line[]
  /** Lines of the `defaults` before it; its own lines take precedence. */
  readonly defaults: readonly Line[]
}

export interface Sections {
  readonly global: readonly Line[]
  readonly defaults: readonly Line[]
  /** Whether the lines of `defaults` apply to all proxies. */
  readonly isOneDefault: boolean
  readonly proxies: readonly Proxy[]
}

const PROXIES: ReadonlySet<string> = new Set(['frontend', 'backend', 'listen'])
/** Sections without a counterpart in Fulcrum. */
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
  'acme',
  'log-profile',
  'namespace_list',
])

/** Limit for the characters of defaults, counted for every section that inherits them, with a fixed cost per line. */
const INHERITED_MAX = 32_000_000
const LINE_COST = 16

interface Defaults {
  readonly lines: Line[]
  size: number
}

/** The `defaults` sections, and who inherits them. */
class Inheritance {
  readonly lines: Line[] = []
  count = 0
  readonly #named = new Map<string, Defaults>()
  #last: Defaults = { lines: [], size: 0 }
  #taken = 0

  get isTooMuch(): boolean {
    return this.#taken > INHERITED_MAX
  }

  begin([name = '', ...more]: readonly string[]): (inside: Line) => void {
    const from = this.#namedBy(more) ?? { lines: [], size: 0 }
    const own = { lines: [...this.#takenOver(from)], size: from.size }
    this.#last = own
    this.count += 1
    if (name !== '') this.#named.set(name, own)
    return (inside) => {
      own.lines.push(inside)
      own.size += LINE_COST + inside.text.length
      this.lines.push(inside)
    }
  }

  /** Returns the lines that a proxy inherits; `more` are the words after its name. */
  linesFor(more: readonly string[]): readonly Line[] {
    return this.#takenOver(this.#namedBy(more) ?? this.#last)
  }

  #namedBy([from, name = '']: readonly string[]): Defaults | undefined {
    return from === 'from' ? this.#named.get(name) : undefined
  }

  #takenOver({ lines, size }: Defaults): readonly Line[] {
    this.#taken += size
    return this.isTooMuch ? [] : lines
  }
}

export function sectionsOf(text: string, reading: Reading): Sections {
  const [global, proxies]: [Line[], Proxy[]] = [[], []]
  const inheritance = new Inheritance()
  const begin: Readonly<Record<string, (line: Line) => (inside: Line) => unknown>> = {
    global: () => (inside) => global.push(inside),
    defaults: ({ words: [, ...more] }) => inheritance.begin(more),
  }
  const beginProxy = (line: Line) => {
    const [kind, name = '', ...more] = line.words
    const lines: Line[] = boundIn(line)
    proxies.push({ kind: kind as Proxy['kind'], name, lines, defaults: inheritance.linesFor(more) })
    return (inside: Line) => lines.push(inside)
  }
  const beginOther = (line: Line) => {
    const [section = '', name = ''] = line.words
    reading.leave(line, `a section ${section} has no counterpart`)
    return (inside: Line) => reading.leave(inside, `it belongs to the section ${section} ${name}`.trimEnd())
  }
  let take: (inside: Line) => unknown = (line) => reading.leave(line, 'it is before the first section')
  for (const line of unconditional(linesOf(text), reading)) {
    const [word = ''] = line.words
    const opened = entryOf(begin, word) ?? (PROXIES.has(word) ? beginProxy : OTHERS.has(word) ? beginOther : undefined)
    const fault = opened === undefined ? faultOf(line) : undefined
    if (opened !== undefined) take = opened(line)
    else if (fault !== undefined) leave(line, fault, reading)
    else take(line)
  }
  const { lines: defaults, isTooMuch, count } = inheritance
  if (!isTooMuch) return { global, defaults, isOneDefault: count < 2, proxies }
  for (const line of defaults) reading.leave(line, 'there are too many lines of defaults for so many sections')
  return { global, defaults: [], isOneDefault: false, proxies: proxies.map((proxy) => ({ ...proxy, defaults: [] })) }
}

/** HAProxy up to 1.4 accepted an address after the name, and such files still exist. */
function boundIn({ number, text, words: [kind, , address, ...more] }: Line): Line[] {
  const isBound = kind !== 'backend' && address?.includes(':') === true
  return isBound ? [{ number, text, words: ['bind', address, ...more] }] : []
}

function unconditional(lines: readonly Line[], reading: Reading): readonly Line[] {
  let depth = 0
  return lines.filter((line) => {
    const [word = ''] = line.words
    if (word === '.if') depth += 1
    if (depth === 0 && !word.startsWith('.')) return true
    reading.leave(line, 'conditions on the environment of HAProxy have no counterpart')
    if (word === '.endif') depth -= 1
    return false
  })
}
