import { pace } from '../base/turns.ts'
import { BACKEND, BackendDraft, backendOf, checkedAtLines, type Server } from './backend.ts'
import { comparedOtherwise } from './conditions.ts'
import { changedIn, FRONTEND, FrontendDraft, frontendsOf, waitsForHello } from './frontend.ts'
import type { Line } from './lines.ts'
import { type Proxy, sectionsOf } from './proxies.ts'
import { NotUnderstood, Reading, type Remark } from './reading.ts'
import { isInspectDelay, leave, NO_COUNTERPART, OWN_DELAY, rawOf, sidesOf } from './taken.ts'

type Json = Readonly<Record<string, unknown>>

/** The result of importing a haproxy.cfg. */
export interface Imported {
  /** A document of the configuration. */
  readonly document: Json
  /** Certificate files that the document refers to and does not contain. */
  readonly certificates: readonly { readonly name: string; readonly path: string }[]
  /** Lines of which nothing is in the document. */
  readonly notUnderstood: readonly Remark[]
  /** Lines whose meaning changes, or that Fulcrum expresses differently. */
  readonly remarks: readonly Remark[]
}

interface RawLines {
  readonly id: string
  readonly lines: string[]
}

/** The records for servers with one name in one backend. */
interface Named {
  /** Number of names tried: there is a record for each. */
  tried: number
  readonly byText: Map<string, string>
}

/** Limit for the characters of all frontends: each address repeats everything that its section shares. */
const FRONTENDS_MAX = 8_000_000

const OF_HTTP = 'it has a meaning in mode http only'

/** Assembles the document. */
class Importer {
  readonly #reading = new Reading()
  readonly #pause = pace()
  /** The records with their JSON texts. */
  readonly #realServers = new Map<string, { readonly record: Json; readonly text: string }>()
  readonly #backends = new Map<string, Json>()
  readonly #frontends = new Map<string, Json>()
  readonly #certificates = new Map<string, string>()
  readonly #certificateNames = new Map<string, string>()
  /** The folder of certificate files given without one. */
  #crtBase = ''
  #frontendsSize = 0
  /** The lines by which proxies add X-Forwarded-For themselves. */
  readonly #forwarding = new Map<unknown, Line>()
  /** Lines of defaults that can be raw lines. */
  readonly #rawDefaults = new Set<Line>()
  /** Lines of defaults that stay in the defaults of all proxies. */
  readonly #shared = new Set<Line>()
  /** Lines of defaults that only proxies in mode tcp inherit. */
  readonly #ofHttp = new Set<Line>()
  /** Lines that are in the document or in a remark. */
  readonly #used = new Set<Line>()
  /** Names of all proxies in the file. */
  readonly #names = new Set<string>()
  readonly #ledTo = new Set<string>()
  readonly #raw = {
    global: [] as string[],
    defaults: [] as string[],
    frontends: [] as RawLines[],
    backends: [] as RawLines[],
  }

  async run(text: string): Promise<Imported> {
    const { global, defaults, isOneDefault, proxies } = sectionsOf(text, this.#reading)
    for (const line of global) this.#global(line)
    for (const line of defaults) if (rawOf(line) !== undefined) this.#rawDefaults.add(line)
    // Lines that apply to all proxies stay in the defaults.
    const shared = isOneDefault ? [...this.#rawDefaults].filter((line) => !isTaken(line)) : []
    for (const line of shared) this.#raw.defaults.push(rawOf(line) ?? '')
    for (const line of shared) this.#shared.add(line)
    for (const { name } of proxies) this.#names.add(name)
    for (const { words } of proxies.flatMap(({ lines }) => lines.filter(isOfWay))) this.#ledTo.add(words[1] ?? '')
    for (const proxy of proxies) await this.#proxy(proxy)
    this.#forward()
    // The lines of defaults that no section has used.
    for (const line of defaults.filter((one) => !this.#used.has(one) && !this.#shared.has(one)))
      if (this.#ofHttp.has(line)) this.#reading.remark(line, OF_HTTP)
      else leave(line, 'no frontend or backend uses it', this.#reading)
    return {
      document: this.#document(),
      certificates: [...this.#certificates].map(([name, path]) => ({ name, path })),
      notUnderstood: this.#reading.left,
      remarks: this.#reading.remarks,
    }
  }

  /** In Fulcrum, frontends add X-Forwarded-For: those that lead to a backend which did. */
  #forward(): void {
    const done = new Set<Line>()
    for (const [name, frontend] of this.#frontends) {
      if (frontend['mode'] !== 'http' || frontend['forwardFor'] === true) continue
      const line = namedBy(frontend).flatMap((backend) => this.#forwarding.get(backend) ?? [])[0]
      if (line === undefined) continue
      this.#frontends.set(name, { ...frontend, forwardFor: true })
      done.add(line)
      this.#reading.remark(line, `it is a field of frontends (forwardFor): ${name} adds it to all of its requests`)
    }
    for (const line of this.#forwarding.values())
      if (!done.has(line)) this.#reading.remark(line, 'it is a field of frontends (forwardFor)')
  }

  #document(): Json {
    const sections = {
      realServers: Object.fromEntries([...this.#realServers].map(([name, { record }]) => [name, record])),
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

  async #proxy({ kind, name, lines, defaults }: Proxy): Promise<void> {
    const sides = { isFront: kind !== 'backend', isBack: kind !== 'frontend' }
    const made: Made = {
      front: new FrontendDraft(this.#certificateNames),
      back: new BackendDraft(),
      rawFront: [],
      rawBack: [],
      taken: new Set(),
      ...sides,
      leadsOn: sides.isBack && lines.some(isOfWay),
    }
    const own = new Set(lines)
    for (const line of [...defaults, ...lines]) {
      this.#take(line, own.has(line), made)
      const due = this.#pause()
      if (due !== undefined) await due
    }
    this.#keep(name, lines, made)
  }

  #take(line: Line, isOwn: boolean, made: Made): void {
    if (!isOwn && this.#shared.has(line)) return
    const why = takenBy(this.#takersOf(line, made))
    if (why === undefined && made.isFront) this.#tellComparisons(line)
    const raw = why === undefined ? undefined : rawOf(line)
    // Lines of defaults for the other kind of proxy are irrelevant here.
    if (why !== undefined && raw === undefined && !isOwn && isOfOther(line, made)) return
    if (raw !== undefined) addRaw(raw, made)
    if (why === undefined || raw !== undefined) made.taken.add(line)
    else {
      this.#used.add(line)
      leave(line, why, this.#reading)
    }
  }

  #tellComparisons(line: Line): void {
    const { here, everywhere } = comparedOtherwise(line.words)
    for (const why of here) this.#reading.remark(line, why)
    for (const why of everywhere) this.#reading.remarkOnce(line, why)
  }

  #keep(name: string, lines: readonly Line[], made: Made): void {
    const { front, back, rawBack, isFront, isBack } = made
    if (isFront && isIdle(front, back) && (isBack || lines.some(isOfStats))) {
      // Lines about statistics have a remark of their own.
      for (const line of lines.filter((one) => !isOfStats(one))) this.#reading.remark(line, `${name} balances nothing`)
      this.#keepIdle(name, made)
      return undefined
    }
    if (this.#hasTwin(name, made)) return this.#leaveAll(lines, `there is another one with the name ${name}`)
    if (isBack) this.#backend(name, back, rawBack)
    if (isBack && back.mode === 'tcp') this.#leaveHttp(back.ofHttp, new Set(lines), made.taken)
    const isThere = !isFront || this.#frontend(name, lines, made)
    if (isThere || isBack) for (const line of made.taken) this.#used.add(line)
    return undefined
  }

  #keepIdle(name: string, { back, isBack }: Made): void {
    if (isBack && this.#ledTo.has(name) && !this.#backends.has(name)) this.#backends.set(name, backendOf(back))
  }

  #hasTwin(name: string, { isFront, isBack }: Made): boolean {
    return (isBack && this.#backends.has(name)) || (isFront && this.#frontends.has(name))
  }

  #leaveAll(lines: readonly Line[], why: string): void {
    for (const line of lines) this.#reading.leave(line, why)
  }

  #takersOf(line: Line, { front, back, isFront, isBack, leadsOn }: Made) {
    const [word = '', ...words] = line.words
    // A listen's rules for responses also apply to responses of other backends, so they belong to its frontend.
    const isOfBack = isBack && !(leadsOn && word === 'http-response')
    const [forFront, forBack] = [isFront ? FRONTEND.get(word) : undefined, isOfBack ? BACKEND.get(word) : undefined]
    return [
      ...(forFront === undefined ? [] : [() => forFront(front, words, line, this.#reading)]),
      ...(forBack === undefined ? [] : [() => forBack(back, words, line, this.#reading)]),
    ]
  }

  #global(line: Line): void {
    const [word, count = ''] = line.words
    if (word === 'crt-base') this.#crtBase = count
    if (word === 'maxconn' && /^\d+$/.test(count)) this.#raw.global.push(`maxconn ${count}`)
    else this.#otherwise(line, this.#raw.global)
  }

  /** Handles a line that no kind of proxy has taken. */
  #otherwise(line: Line, raw: string[]): void {
    const own = rawOf(line)
    if (own !== undefined) raw.push(own)
    else leave(line, NO_COUNTERPART, this.#reading)
  }

  #backend(name: string, draft: BackendDraft, raw: string[]): void {
    if (draft.sticks !== undefined && draft.isByCookie)
      this.#reading.remark(draft.sticks, 'a backend has one kind of persistence, which is the cookie')
    if (draft.stickTable !== undefined && draft.sticks === undefined)
      leave(draft.stickTable, 'no persistence uses this table', this.#reading)
    // In a haproxy.cfg, the default weight of a server is 1.
    const weighed = draft.servers.some(({ member }) => 'weight' in member) ? { weight: 1 } : {}
    const named = new Map<string, Named>()
    const reals = draft.servers.map((server) => {
      const places = named.get(server.name) ?? { tried: 0, byText: new Map() }
      named.set(server.name, places)
      return { ripId: this.#real(name, server, places), ...weighed, ...server.member }
    })
    if (!draft.servers.some(({ isChecked }) => isChecked))
      for (const line of draft.checks) this.#reading.remark(line, 'no converted server is checked')
    if (draft.forwardFor !== undefined) this.#forwarding.set(name, draft.forwardFor)
    this.#backends.set(name, { ...backendOf(draft), ...(reals.length === 0 ? {} : { reals }) })
    const lines = [...raw, ...checkedAtLines(draft)]
    if (lines.length > 0) this.#raw.backends.push({ id: name, lines })
  }

  /**
   * Returns the name of the server's record. Servers of several backends share a record if they are at the same place.
   */
  #real(backend: string, { name, ip, port, resolve, isHalted }: Server, places: Named): string {
    const record = { ip, port, ...resolve, ...(isHalted ? { state: 'halted' } : {}) }
    const text = JSON.stringify(record)
    let found = places.byText.get(text)
    while (found === undefined) {
      const number = places.tried++
      const own = number === 0 ? name : number === 1 ? `${backend}-${name}` : `${backend}-${name}-${number}`
      const known = this.#realServers.get(own) ?? { record, text }
      this.#realServers.set(own, known)
      if (!places.byText.has(known.text)) places.byText.set(known.text, own)
      found = places.byText.get(text)
    }
    return found
  }

  #frontend(name: string, lines: readonly Line[], made: Made): boolean {
    const { front, back, isBack, rawFront: raw, taken } = made
    if (front.binds.length === 0) return this.#leaveFront(lines, isBack, 'it has no supported listening address')
    if (isBack && back.servers.length > 0) front.fields['defaultBackendId'] ??= name
    const records = frontendsOf(front)
    this.#frontendsSize += records.length * JSON.stringify([records[0], raw]).length
    if (this.#frontendsSize > FRONTENDS_MAX)
      return this.#leaveFront(lines, isBack, 'it has too many rules for so many addresses')
    for (const [record, path] of front.certificates) this.#certificates.set(record, this.#pathOf(path))
    let number = 1
    for (const [at, fields] of records.entries()) {
      if (at > 0) number = this.#freeNumber(name, number + 1)
      const own = at === 0 ? name : `${name}-${number}`
      this.#frontends.set(own, fields)
      this.#keepRaw(own, waitsForHello(front, fields) ? this.#withoutDelay(raw, taken) : raw)
    }
    if (front.mode === 'tcp') this.#leaveHttp(front.ofHttp, new Set(lines), taken)
    for (const line of front.unasked) this.#reading.remark(line, 'no converted rule uses it')
    for (const [line, why] of changedIn(front, records.length)) this.#reading.remark(line, why)
    return true
  }

  #keepRaw(id: string, lines: string[]): void {
    if (lines.length > 0) this.#raw.frontends.push({ id, lines })
  }

  /** Drops delays from raw lines, with a remark. */
  #withoutDelay(raw: readonly string[], taken: ReadonlySet<Line>): string[] {
    for (const line of taken) if (isInspectDelay(line.words.join(' '))) this.#reading.remark(line, OWN_DELAY)
    return raw.filter((line) => !isInspectDelay(line))
  }

  /** Drops HTTP lines: own ones with a remark, inherited ones because they are meant for other proxies. */
  #leaveHttp(ofHttp: readonly Line[], own: ReadonlySet<Line>, taken: Set<Line>): void {
    for (const line of ofHttp) {
      if (own.has(line)) this.#reading.remark(line, OF_HTTP)
      else if (taken.delete(line)) this.#ofHttp.add(line)
    }
  }

  /** Leaves the lines of the frontend out; those about servers stay. */
  #leaveFront(lines: readonly Line[], isBack: boolean, why: string): false {
    this.#leaveAll(isBack ? lines.filter(({ words: [word = ''] }) => !BACKEND.has(word)) : lines, why)
    return false
  }

  #pathOf(path: string): string {
    return this.#crtBase === '' || path.startsWith('/') ? path : `${this.#crtBase}/${path}`
  }

  #freeNumber(name: string, from: number): number {
    for (let number = from; ; number++) {
      const own = `${name}-${number}`
      if (!this.#names.has(own) && !this.#frontends.has(own)) return number
    }
  }
}

/** Returns the backends to which a frontend leads. */
function namedBy(frontend: Json): readonly unknown[] {
  const rules = (frontend['rules'] ?? []) as readonly { readonly do: Json }[]
  return [frontend['defaultBackendId'], ...rules.map((rule) => rule.do['backendId'])]
}

const isOfStats = ({ words: [word] }: Line) => word === 'stats'

const isOfWay = ({ words: [word = ''] }: Line) => word === 'use_backend' || word === 'default_backend'

/** Returns whether a section shows only statistics, or nothing. */
const isIdle = ({ rules, fields }: FrontendDraft, { servers }: BackendDraft): boolean =>
  servers.length === 0 &&
  fields['defaultBackendId'] === undefined &&
  Object.values(rules).every((list) => list.length === 0)

/** The result of one proxy. */
interface Made extends Record<'isFront' | 'isBack', boolean> {
  readonly front: FrontendDraft
  readonly back: BackendDraft
  readonly rawFront: string[]
  readonly rawBack: string[]
  /** Whether it is a listen some of whose requests other backends answer. */
  readonly leadsOn: boolean
  /** Lines that are in the result. */
  readonly taken: Set<Line>
}

function addRaw(raw: string, { isFront, isBack, rawFront, rawBack }: Made): void {
  const { front, back } = isFront && isBack ? sidesOf(raw) : { front: isFront, back: isBack }
  if (front) rawFront.push(raw)
  if (back) rawBack.push(raw)
}

/** Returns why no handler has taken the line; undefined if one has. */
function takenBy(takers: readonly (() => void)[]): string | undefined {
  let why = NO_COUNTERPART
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

/** The options of a proxy that have a handler. */
const OPTIONS: ReadonlySet<string> = new Set(['forwardfor', 'httpchk', 'tcp-check'])
/** Returns whether a handler of some kind of proxy exists for the line. */
const isTaken = ({ words: [word = '', name = ''] }: Line): boolean =>
  word === 'option' ? OPTIONS.has(name) : FRONTEND.has(word) || BACKEND.has(word)

const FRONT_TIMEOUTS: ReadonlySet<string> = new Set([
  'client',
  'http-request',
  'http-keep-alive',
  'client-fin',
  'tarpit',
])

/** Returns whether a line of defaults is only for the other kind of proxy. */
function isOfOther(
  { words: [word = '', name = ''] }: Line,
  { isFront, isBack }: Record<'isFront' | 'isBack', boolean>,
) {
  if (isFront && isBack) return false
  if (word === 'timeout') return FRONT_TIMEOUTS.has(name) !== isFront
  if (word === 'option') return OPTIONS.has(name) && (name === 'forwardfor') !== isFront
  return isFront ? BACKEND.has(word) && !FRONTEND.has(word) : FRONTEND.has(word) && !BACKEND.has(word)
}

/** Imports a haproxy.cfg. Every line ends up in the document, in its raw lines, or in a remark. */
export const importHaproxyCfg = (text: string): Promise<Imported> => new Importer().run(text)
