import { BACKEND, BackendDraft, backendOf, type Server } from './backend.ts'
import { FRONTEND, FrontendDraft, frontendsOf } from './frontend.ts'
import type { Line } from './lines.ts'
import { type Proxy, sectionsOf } from './proxies.ts'
import { NotUnderstood, Reading, type Remark } from './reading.ts'
import { isRaw, whyOwn } from './taken.ts'

type Json = Readonly<Record<string, unknown>>

/** What a haproxy.cfg comes to. */
export interface Imported {
  /** A document of the configuration. */
  readonly document: Json
  /** Files with certificates that the document names, which are not part of it. */
  readonly certificates: readonly { readonly name: string; readonly path: string }[]
  /** Lines of which nothing is in the document. */
  readonly notUnderstood: readonly Remark[]
  /** Lines that mean something else from now on, or that Fulcrum has a word of its own for. */
  readonly remarks: readonly Remark[]
}

interface Named {
  readonly id: string
  readonly lines: string[]
}

/** Puts together what was read. */
class Importer {
  readonly #reading = new Reading()
  readonly #realServers = new Map<string, Record<string, unknown>>()
  readonly #backends = new Map<string, Json>()
  readonly #frontends = new Map<string, Json>()
  readonly #certificates = new Map<string, string>()
  readonly #raw = {
    global: [] as string[],
    defaults: [] as string[],
    frontends: [] as Named[],
    backends: [] as Named[],
  }

  run(text: string): Imported {
    const { global, defaults, isOneDefault, proxies } = sectionsOf(text, this.#reading)
    for (const line of global) this.#global(line)
    const used = new Set<Line>()
    // Lines that are for all proxies alike stay where they are.
    const shared = isOneDefault ? defaults.filter((line) => !isTaken(line) && isRaw(line)) : []
    for (const line of shared) this.#otherwise(line, this.#raw.defaults)
    for (const line of shared) used.add(line)
    for (const proxy of proxies) this.#proxy(proxy, used)
    // A line of defaults is taken by whoever it is for; nobody has taken these.
    for (const line of defaults) if (!used.has(line)) this.#leave(line, 'no frontend and no backend takes it over')
    const { left, remarks } = this.#reading
    const order = (all: readonly Remark[]) => unique(all).toSorted((a, b) => a.line - b.line)
    return {
      document: this.#document(),
      certificates: [...this.#certificates].map(([name, path]) => ({ name, path })),
      notUnderstood: order(left),
      remarks: order(remarks),
    }
  }

  #document(): Json {
    const sections = {
      realServers: Object.fromEntries(this.#realServers),
      l7Backends: Object.fromEntries(this.#backends),
      l7Frontends: Object.fromEntries(this.#frontends),
    }
    const { global, defaults, frontends, backends } = this.#raw
    const raw = {
      ...(global.length === 0 ? {} : { global }),
      ...(defaults.length === 0 ? {} : { defaults }),
      ...(frontends.length === 0 ? {} : { frontends }),
      ...(backends.length === 0 ? {} : { backends }),
    }
    return {
      version: 1,
      ...Object.fromEntries(Object.entries(sections).filter(([, records]) => Object.keys(records).length > 0)),
      ...(Object.keys(raw).length === 0 ? {} : { l7Raw: raw }),
    }
  }

  #proxy({ kind, name, lines, defaults }: Proxy, used: Set<Line>): void {
    const made: Made = { front: new FrontendDraft(), back: new BackendDraft(), rawFront: [], rawBack: [] }
    const [isFront, isBack] = [kind !== 'backend', kind !== 'frontend']
    const own = new Set(lines)
    for (const line of [...defaults, ...lines]) {
      const isOwn = own.has(line)
      // What all proxies share was put into one place.
      if (!isOwn && used.has(line) && !isTaken(line)) continue
      const takers = this.#takersOf(line, { isFront, isBack, ...made })
      const outcome = takenBy(takers)
      if (outcome !== undefined && isRaw(line)) (isFront ? made.rawFront : made.rawBack).push(line.words.join(' '))
      if (outcome === undefined || isRaw(line)) used.add(line)
      // What defaults say for the other kind of proxy is no matter here.
      else if (isOwn || (takers.length > 0 && isForAll(line))) this.#leave(line, outcome)
    }
    this.#keep(name, made, { isFront, isBack, lines })
  }

  #keep(name: string, { front, back, rawFront, rawBack }: Made, { isFront, isBack, lines }: Kept): void {
    const isEmpty = back.servers.length === 0 && Object.values(front.rules).every((rules) => rules.length === 0)
    if (isFront && isBack && isEmpty && front.fields['defaultBackendId'] === undefined) {
      for (const line of lines) this.#reading.remark(line, `nothing is balanced by ${name}`)
      return
    }
    if (isBack) this.#backend(name, back, rawBack)
    if (isFront) this.#frontend(name, front, rawFront, isBack && back.servers.length > 0)
  }

  #takersOf(line: Line, { front, back, isFront, isBack }: Made & Record<'isFront' | 'isBack', boolean>) {
    const [word = '', ...words] = line.words
    const [forFront, forBack] = [isFront ? FRONTEND[word] : undefined, isBack ? BACKEND[word] : undefined]
    return [
      ...(forFront === undefined ? [] : [() => forFront(front, words, line, this.#reading)]),
      ...(forBack === undefined ? [] : [() => forBack(back, words, line, this.#reading)]),
    ]
  }

  #global(line: Line): void {
    const [word, count = ''] = line.words
    if (word === 'maxconn' && /^\d+$/.test(count)) this.#raw.global.push(`maxconn ${count}`)
    else this.#otherwise(line, this.#raw.global)
  }

  /** A line that no kind of proxy has taken. */
  #otherwise(line: Line, raw: string[]): void {
    if (isRaw(line)) raw.push(line.words.join(' '))
    else this.#leave(line, 'it has no counterpart')
  }

  #leave(line: Line, why: string): void {
    const own = whyOwn(line)
    if (own === undefined) this.#reading.leave(line, why)
    else this.#reading.remark(line, own)
  }

  #backend(name: string, draft: BackendDraft, raw: string[]): void {
    // In a haproxy.cfg a server without a weight has 1.
    const weighed = draft.servers.some(({ member }) => 'weight' in member) ? { weight: 1 } : {}
    const reals = draft.servers.map((server) => ({ ripId: this.#real(name, server), ...weighed, ...server.member }))
    this.#backends.set(name, { ...backendOf(draft), ...(reals.length === 0 ? {} : { reals }) })
    if (raw.length > 0) this.#raw.backends.push({ id: name, lines: raw })
  }

  /** Servers of several backends are one record where they are at one place. */
  #real(backend: string, { name, ip, port, isHalted }: Server): string {
    const isSame = (known: Readonly<Record<string, unknown>> | undefined) =>
      known?.['ip'] === ip && known['port'] === port
    const candidates = [name, `${backend}-${name}`]
    const found = candidates.find((one) => isSame(this.#realServers.get(one)))
    if (found !== undefined) return found
    const free = [...candidates, ...Array.from({ length: 1000 }, (_, at) => `${backend}-${name}-${at + 2}`)].find(
      (one) => !this.#realServers.has(one),
    )
    const own = free ?? name
    this.#realServers.set(own, { ip, port, ...(isHalted ? { state: 'halted' } : {}) })
    return own
  }

  #frontend(name: string, draft: FrontendDraft, raw: string[], isListen: boolean): void {
    if (isListen) draft.fields['defaultBackendId'] = name
    for (const [record, path] of draft.certificates) this.#certificates.set(record, path)
    for (const [own, fields] of frontendsOf(name, draft)) {
      this.#frontends.set(own, fields)
      if (raw.length > 0) this.#raw.frontends.push({ id: own, lines: raw })
    }
  }
}

/** What one proxy comes to. */
interface Made {
  readonly front: FrontendDraft
  readonly back: BackendDraft
  readonly rawFront: string[]
  readonly rawBack: string[]
}

interface Kept extends Record<'isFront' | 'isBack', boolean> {
  readonly lines: readonly Line[]
}

/** Why none of them has taken the line; undefined when one has. */
function takenBy(takers: readonly (() => void)[]): string | undefined {
  let why = 'it has no counterpart'
  let isTaken = false
  for (const take of takers) {
    try {
      take()
      isTaken = true
    } catch (error) {
      if (!(error instanceof NotUnderstood)) throw error
      why = error.message
    }
  }
  return isTaken ? undefined : why
}

/** The options that a proxy may take. */
const OPTIONS: ReadonlySet<string> = new Set(['forwardfor', 'httpchk', 'tcp-check'])
/** Whether some kind of proxy may take it. */
const isTaken = ({ words: [word = '', name = ''] }: Line): boolean =>
  word === 'option' ? OPTIONS.has(name) : word in FRONTEND || word in BACKEND

/** Whether a line of defaults means something for every proxy. */
const isForAll = ({ words }: Line): boolean => words[0] !== 'timeout' && words[0] !== 'option'

const unique = (all: readonly Remark[]): readonly Remark[] =>
  all.filter((one, at) => all.findIndex((other) => other.line === one.line && other.why === one.why) === at)

/** Reads a haproxy.cfg. Every line is in the document, in its raw lines, or told of. */
export const importHaproxyCfg = (text: string): Imported => new Importer().run(text)
