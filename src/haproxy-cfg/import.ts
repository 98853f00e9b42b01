import { pace } from '../base/turns.ts'
import { BACKEND, BackendDraft, backendOf, type Server } from './backend.ts'
import { FRONTEND, FrontendDraft, frontendsOf } from './frontend.ts'
import { faultOf, type Line } from './lines.ts'
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

/** Lines of defaults, each counted for every section that takes it over. */
const INHERITED_MAX = 1_000_000

/** Puts together what was read. */
class Importer {
  readonly #reading = new Reading()
  readonly #realServers = new Map<string, Record<string, unknown>>()
  readonly #backends = new Map<string, Json>()
  readonly #frontends = new Map<string, Json>()
  readonly #certificates = new Map<string, string>()
  /** Of all proxies in the file. */
  readonly #names = new Set<string>()
  readonly #raw = {
    global: [] as string[],
    defaults: [] as string[],
    frontends: [] as Named[],
    backends: [] as Named[],
  }

  async run(text: string): Promise<Imported> {
    const pause = pace()
    const { global, defaults, isOneDefault, proxies } = sectionsOf(text, this.#reading)
    for (const line of global) this.#global(line)
    const used = new Set<Line>()
    // Lines that are for all proxies alike stay where they are.
    const shared = isOneDefault ? defaults.filter((line) => !isTaken(line) && isRaw(line)) : []
    for (const line of shared) this.#otherwise(line, this.#raw.defaults)
    for (const line of shared) used.add(line)
    for (const { name } of proxies) this.#names.add(name)
    const isTooMuch = proxies.reduce((sum, { defaults: own }) => sum + own.length, 0) > INHERITED_MAX
    if (isTooMuch) this.#leaveAll(defaults, 'there are too many lines of defaults for so many sections')
    for (const proxy of proxies) {
      this.#proxy(isTooMuch ? { ...proxy, defaults: [] } : proxy, used)
      await pause()
    }
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
      const fault = faultOf(line)
      if (fault !== undefined) {
        this.#leave(line, fault)
        used.add(line)
        continue
      }
      // What all proxies share was put into one place.
      if (!isOwn && used.has(line) && !isTaken(line)) continue
      const takers = this.#takersOf(line, { isFront, isBack, ...made })
      const outcome = takenBy(takers)
      if (outcome !== undefined && isRaw(line)) (isFront ? made.rawFront : made.rawBack).push(line.words.join(' '))
      if (outcome === undefined || isRaw(line)) used.add(line)
      // What defaults say for the other kind of proxy is no matter here.
      else if (isOwn || !isOfOther(line, { isFront, isBack })) this.#leave(line, outcome)
    }
    this.#keep(name, made, { isFront, isBack, lines })
  }

  #keep(name: string, made: Made, { isFront, isBack, lines }: Kept): void {
    const { front, back, rawFront, rawBack } = made
    if (isFront && isBack && isIdle(front, back)) {
      for (const line of lines) this.#reading.remark(line, `nothing is balanced by ${name}`)
      return undefined
    }
    const isTwin = (isBack && this.#backends.has(name)) || (isFront && this.#frontends.has(name))
    if (isTwin) return this.#leaveAll(lines, `there is another one called ${name}`)
    if (isBack) this.#backend(name, back, rawBack)
    if (!isFront) return undefined
    if (front.binds.length === 0) return this.#leaveAll(lines, 'it listens at no address that is understood')
    return this.#frontend(name, front, rawFront, isBack && back.servers.length > 0)
  }

  #leaveAll(lines: readonly Line[], why: string): void {
    for (const line of lines) this.#reading.leave(line, why)
  }

  #takersOf(line: Line, { front, back, isFront, isBack }: Made & Record<'isFront' | 'isBack', boolean>) {
    const [word = '', ...words] = line.words
    const [forFront, forBack] = [isFront ? FRONTEND.get(word) : undefined, isBack ? BACKEND.get(word) : undefined]
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
    if (draft.stickTable !== undefined && !draft.sticks) this.#leave(draft.stickTable, 'nothing sticks by this table')
    // In a haproxy.cfg a server without a weight has 1.
    const weighed = draft.servers.some(({ member }) => 'weight' in member) ? { weight: 1 } : {}
    const reals = draft.servers.map((server) => ({ ripId: this.#real(name, server), ...weighed, ...server.member }))
    this.#backends.set(name, { ...backendOf(draft), ...(reals.length === 0 ? {} : { reals }) })
    if (raw.length > 0) this.#raw.backends.push({ id: name, lines: raw })
  }

  /** Servers of several backends are one record where they are at one place. */
  #real(backend: string, { name, ip, port, isHalted }: Server): string {
    const wanted = { ip, port, ...(isHalted ? { state: 'halted' } : {}) }
    const text = JSON.stringify(wanted)
    for (let number = 0; ; number++) {
      const own = number === 0 ? name : number === 1 ? `${backend}-${name}` : `${backend}-${name}-${number}`
      const known = this.#realServers.get(own)
      if (known === undefined) this.#realServers.set(own, wanted)
      if (known === undefined || JSON.stringify(known) === text) return own
    }
  }

  #frontend(name: string, draft: FrontendDraft, raw: string[], isListen: boolean): void {
    if (isListen) draft.fields['defaultBackendId'] = name
    for (const [record, path] of draft.certificates) this.#certificates.set(record, path)
    for (const [at, fields] of frontendsOf(draft).entries()) {
      const own = at === 0 ? name : this.#freeName(name, at + 1)
      this.#frontends.set(own, fields)
      if (raw.length > 0) this.#raw.frontends.push({ id: own, lines: raw })
    }
  }

  #freeName(name: string, from: number): string {
    for (let number = from; ; number++) {
      const own = `${name}-${number}`
      if (!this.#names.has(own) && !this.#frontends.has(own)) return own
    }
  }
}

/** A section `listen` that shows statistics, or nothing. */
const isIdle = ({ rules, fields }: FrontendDraft, { servers }: BackendDraft): boolean =>
  servers.length === 0 &&
  fields['defaultBackendId'] === undefined &&
  Object.values(rules).every((list) => list.length === 0)

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
  word === 'option' ? OPTIONS.has(name) : FRONTEND.has(word) || BACKEND.has(word)

const FRONT_TIMEOUTS: ReadonlySet<string> = new Set([
  'client',
  'http-request',
  'http-keep-alive',
  'client-fin',
  'tarpit',
])

/** Whether a line of defaults is for the other kind of proxy only. */
function isOfOther(
  { words: [word = '', name = ''] }: Line,
  { isFront, isBack }: Record<'isFront' | 'isBack', boolean>,
) {
  if (isFront && isBack) return false
  if (word === 'timeout') return FRONT_TIMEOUTS.has(name) !== isFront
  if (word === 'option') return OPTIONS.has(name) && (name === 'forwardfor') !== isFront
  return isFront ? BACKEND.has(word) && !FRONTEND.has(word) : FRONTEND.has(word) && !BACKEND.has(word)
}

function unique(all: readonly Remark[]): readonly Remark[] {
  const seen = new Map(all.map((one) => [`${one.line} ${one.why}`, one]))
  return [...seen.values()]
}

/** Reads a haproxy.cfg. Every line is in the document, in its raw lines, or told of. */
export const importHaproxyCfg = (text: string): Promise<Imported> => new Importer().run(text)
