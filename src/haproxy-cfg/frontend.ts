import { alternativesOf, type Condition, conditionOf } from './conditions.ts'
import type { Line } from './lines.ts'
import { entryOf, refuse, type Reading } from './reading.ts'
import {
  forwardedFor,
  headerName,
  listenOf,
  modeOf,
  plainText,
  statusIn,
  takeOptions,
  wholeNumber,
  wholeSeconds,
} from './taken.ts'

export interface Rule {
  readonly when?: { readonly all: readonly Condition[] }
  readonly do: Readonly<Record<string, unknown>>
}

interface Bind {
  readonly ip: string
  readonly ports: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly certificates: readonly string[]
  readonly isTls: boolean
  /** Whether it is for the IPv4 clients of a line for `::`; dropped if another line is for them. */
  readonly isForOlder: boolean
}

/** The result of the lines of one frontend so far. */
export class FrontendDraft {
  readonly fields: Record<string, unknown> = {}
  readonly timeouts: Record<string, number> = {}
  readonly binds: Bind[] = []
  /** ACLs, empty if a line was not understood. */
  readonly acls = new Map<string, Condition[]>()
  /** Lines that have a meaning only in HTTP. */
  readonly ofHttp: Line[] = []
  /** Lines of ACLs that were understood. */
  readonly #aclLines: (readonly [name: string, line: Line])[] = []
  readonly #asked = new Set<string>()
  /** Names of ACLs with a line that was not understood. */
  readonly broken = new Set<string>()
  /** In the order in which HAProxy evaluates them. */
  readonly rules: Record<'requests' | 'redirects' | 'backends', Rule[]> = { requests: [], redirects: [], backends: [] }
  /** Paths of certificate files, by the names given to the certificates. */
  readonly certificates = new Map<string, string>()
  mode = 'tcp'
  /** Whether some requests were to skip the rules that follow. */
  exempts = false
  /** The line that sets a field. */
  readonly said = new Map<string, Line>()
  /** The same for all frontends: two of them may have files of one name. */
  readonly known: Map<string, string>

  constructor(known: Map<string, string> = new Map()) {
    this.known = known
  }

  get unasked(): readonly Line[] {
    return this.#aclLines.flatMap(([name, line]) => (this.#asked.has(name) ? [] : [line]))
  }

  addAcl(name: string, condition: Condition, line: Line): void {
    // HAProxy adds the condition to rules that it has already read.
    const isBroken = this.broken.has(name)
    if (!isBroken && this.acls.has(name) && this.#asked.has(name))
      refuse('an earlier rule needs it: move it before that rule')
    this.#aclLines.push([name, line])
    const known = this.acls.get(name)
    if (known === undefined) this.acls.set(name, [condition])
    else if (!isBroken) known.push(condition)
  }

  /** Notes the words after `if` of a rule that was understood. */
  asks(words: readonly string[]): void {
    for (const word of words) this.#asked.add(word.replace(/^!+/, ''))
  }
}

type Take = (draft: FrontendDraft, words: readonly string[], line: Line, reading: Reading) => void

/** Handlers for the keywords of frontends; a line whose handler throws is not understood. */
const TAKEN: Readonly<Record<string, Take>> = {
  mode: (draft, [mode]) => void (draft.mode = modeOf(mode)),
  bind: (draft, words, line, reading) => void draft.binds.push(...bindsOf(draft, words, line, reading)),
  maxconn: (draft, [count], line) => {
    draft.fields['maxConn'] = wholeNumber(count)
    draft.said.set('maxConn', line)
  },
  disabled: ({ fields }) => void (fields['enabled'] = false),
  enabled: ({ fields }) => void (fields['enabled'] = true),
  default_backend: (draft, [name = '']) => void (draft.fields['defaultBackendId'] = name),
  timeout: timeoutOf,
  option: (draft, [name, ...more], line, reading) => {
    if (name !== 'forwardfor') refuse(`option ${name ?? ''} has no counterpart`)
    forwardedFor(more, line, reading)
    ofHttp(draft, 'forwardFor', true, line)
  },
  acl: (draft, [name = '', ...words], line) => {
    let condition: Condition
    try {
      condition = conditionOf(words)
    } catch (error) {
      draft.broken.add(name)
      draft.acls.set(name, [])
      throw error
    }
    draft.addAcl(name, condition, line)
  },
  use_backend: (draft, [name = '', ...words]) => {
    if (name.includes('%[')) refuse('a computed name has no counterpart: rules name their backends')
    add(draft, 'backends', words, { type: 'backend', backendId: name })
  },
  redirect: (draft, words, line, reading) => redirect(draft, 'redirects', words, line, reading),
  'http-request': request,
  compression: (draft, [what, ...more], line) => {
    const known = Object(draft.fields['compression']) as object
    const isAlgo = what === 'algo' && more.includes('gzip')
    if (!isAlgo && what !== 'type') refuse(`compression ${what ?? ''} has no counterpart`)
    const said = isAlgo ? { ...known, enabled: true } : { enabled: false, ...known, types: more }
    ofHttp(draft, 'compression', said, line)
  },
}

/** Fields that have a meaning only in HTTP. */
const HTTP_FIELDS: ReadonlySet<string> = new Set(['forwardFor', 'compression', 'httpRedirectToHttps'])

function ofHttp(draft: FrontendDraft, field: string, value: unknown, line: Line): void {
  draft.fields[field] = value
  draft.said.set(field, line)
  draft.ofHttp.push(line)
}

/** Returns remarks on fields whose meaning changes, once the whole frontend is known. */
export function changedIn(
  { mode, binds, fields, rules, said }: FrontendDraft,
  count: number,
): readonly (readonly [Line, string])[] {
  const isHttp = mode === 'http'
  const asked: readonly (readonly [field: string, isSo: boolean, why: string])[] = [
    ['maxConn', count > 1, 'each of the resulting frontends accepts this many'],
    [
      'compression',
      isHttp && !Object.hasOwn(Object(fields['compression']), 'types'),
      'without types, Fulcrum compresses only texts, but HAProxy everything',
    ],
    [
      'httpRedirectToHttps',
      isHttp && binds.some(({ isTls, ports }) => !isTls && ports !== '80'),
      'the port in Host is left out: it leads to port 443, or where the frontend speaks TLS',
    ],
    ['httpRedirectToHttps', isHttp && rules.requests.length > 0, 'it comes before all rules'],
    ['forwardFor', isHttp && binds.some(({ isTls }) => isTls), 'with TLS, X-Forwarded-Proto is sent as well'],
  ]
  return asked.flatMap(([field, isSo, why]) => {
    const line = said.get(field)
    return line === undefined || !isSo ? [] : [[line, why] as const]
  })
}
export const FRONTEND: ReadonlyMap<string, Take> = new Map(Object.entries(TAKEN))

interface BindDraft {
  readonly fields: Record<string, unknown>
  readonly crts: string[]
  readonly remark: (why: string) => void
  isTls: boolean
  isNewerOnly: boolean
}

/** For options that Fulcrum's own lines always have, or that another option implies. */
const nothing = (): void => undefined
const skipped = ({ remark }: BindDraft, value: () => string): void => remark(`${value()} has no counterpart in Fulcrum`)
const left =
  (option: string) =>
  ({ remark }: BindDraft): void =>
    remark(`${option} has no counterpart`)
const onFrontends = (): never => refuse('it has no counterpart on a frontend')

/** Handlers for the options of a bind line. */
const BIND: Readonly<Record<string, (draft: BindDraft, value: () => string) => void>> = {
  ssl: (draft) => void (draft.isTls = true),
  'accept-proxy': ({ fields }) => void (fields['proxyProtocol'] = true),
  crt: ({ crts }, value) => void crts.push(value()),
  alpn: ({ fields }, value) => {
    const protocols = value().split(',')
    const strange = protocols.find((one) => one !== 'h2' && one !== 'http/1.1')
    fields['alpn'] = strange === undefined ? protocols : refuse(`the protocol ${strange} has no counterpart`)
  },
  'ssl-min-ver': ({ fields }, value) => void (fields['minTls'] = value().replace(/^TLSv/, '')),
  name: skipped,
  id: skipped,
  interface: onFrontends,
  ciphers: onFrontends,
  ciphersuites: onFrontends,
  curves: onFrontends,
  v4v6: nothing,
  v6only: (draft) => void (draft.isNewerOnly = true),
  transparent: left('transparent'),
  'no-sslv3': nothing,
  'no-tlsv10': nothing,
  'no-tlsv11': nothing,
  tfo: left('tfo'),
  'defer-accept': left('defer-accept'),
}

function bindsOf(
  draft: FrontendDraft,
  [address = '', ...options]: readonly string[],
  line: Line,
  reading: Reading,
): readonly Bind[] {
  const listen = listenOf(address)
  const remark = (why: string) => reading.remark(line, why)
  const empty: BindDraft = { fields: {}, crts: [], remark, isTls: false, isNewerOnly: false }
  const { fields, crts, isTls, isNewerOnly } = takeOptions<BindDraft>(BIND, options, empty)
  if (isTls && crts.length === 0) refuse('it names no certificate')
  // Without TLS, HAProxy ignores certificates.
  const certificates = (isTls ? crts : []).map((path) => certificateName(draft, path))
  for (const path of isTls ? crts : [])
    if (!/\.(?!d$)\w+$/.test(path)) remark(`if ${path} is a folder, each file in it is a certificate: name all of them`)
  const bind = { ...listen, fields, certificates, isTls, isForOlder: false }
  // On Linux this address accepts both families, but a frontend of Fulcrum with it accepts IPv6 only.
  if (listen.ip !== '::' || isNewerOnly) return [bind]
  remark('it also accepts IPv4, which needs a separate frontend at 0.0.0.0')
  return [bind, { ...bind, ip: '0.0.0.0', isForOlder: true }]
}

/** Names a certificate after its file; files with equal names are prefixed with the folder's name. */
function certificateName({ known, certificates }: FrontendDraft, path: string): string {
  const parts = path.split('/').filter((part) => part !== '')
  for (let length = 1; length <= parts.length; length++) {
    const name = parts
      .slice(-length)
      .join('-')
      .replace(/\.(pem|crt|cer)$/, '')
    if ((known.get(name) ?? path) !== path) continue
    known.set(name, path)
    certificates.set(name, path)
    return name
  }
  return refuse(`there is another certificate with a path like ${path}`)
}

const OF_HTTP: ReadonlySet<string> = new Set(['httpRequest', 'httpKeepAlive'])
const TIMEOUTS: Readonly<Record<string, string>> = {
  'http-request': 'httpRequest',
  'http-keep-alive': 'httpKeepAlive',
  'client-fin': 'clientFin',
}

function timeoutOf(draft: FrontendDraft, [which = '', time]: readonly string[], line: Line, reading: Reading): void {
  const seconds = () => wholeSeconds(line, time, reading, which === 'http-request' ? 3600 : undefined)
  if (which === 'client') draft.fields['timeoutClient'] = seconds()
  else {
    const name = entryOf(TIMEOUTS, which) ?? refuse(`timeout ${which} has no counterpart`)
    draft.timeouts[name] = seconds()
    if (OF_HTTP.has(name)) draft.ofHttp.push(line)
  }
}

const BEFORE = new Set(['if', 'unless'])
const splitAtCondition = (words: readonly string[]) => {
  const at = words.findIndex((word) => BEFORE.has(word))
  return at < 0 ? ([words, []] as const) : ([words.slice(0, at), words.slice(at)] as const)
}

/** The maximum number of rules of a frontend. */
const RULES_MAX = 2_000

/** Adds one rule per alternative: the first that matches acts, and the others would do the same. */
function add(
  draft: FrontendDraft,
  list: keyof FrontendDraft['rules'],
  condition: readonly string[],
  action: Rule['do'],
): void {
  const made = alternativesOf(condition, draft.acls).map((all): Rule => {
    if (all.length > 8) refuse('it has more than eight conditions')
    return all.length === 0 ? { do: action } : { when: { all }, do: action }
  })
  const count = Object.values(draft.rules).reduce((sum, { length }) => sum + length, made.length)
  if (count > RULES_MAX) refuse('a frontend has 2,000 rules')
  draft.rules[list].push(...made)
  draft.asks(condition)
}

/**
 * Returns whether the condition applies to all requests without TLS: `unless { ssl_fc }`, `if !{ ssl_fc }`, or every
 * request of a port without TLS.
 */
const isWithoutTls = (condition: readonly string[]): boolean =>
  /^$|^if !\s?\{ ssl_fc \}$|^unless \{ ssl_fc \}$/.test(condition.join(' '))

function redirect(
  draft: FrontendDraft,
  list: 'requests' | 'redirects',
  words: readonly string[],
  line: Line,
  reading: Reading,
): void {
  const [said, condition] = splitAtCondition(words)
  const [kind = '', target = '', option, code, ...more] = said
  if (more.length > 0 || (option !== undefined && option !== 'code')) refuse('its options have no counterpart')
  if (kind === 'scheme' && target === 'https') {
    if (!isWithoutTls(condition)) refuse('the redirect to https applies to all requests without TLS')
    ofHttp(draft, 'httpRedirectToHttps', true, line)
    if (code !== '301') reading.remark(line, `Fulcrum answers 301, not ${code ?? '302'}`)
  } else if (kind === 'location') {
    const status = code === undefined || code === '302' ? {} : { status: wholeNumber(code) }
    add(draft, list, condition, { type: 'redirect', to: plainText(target), ...status })
  } else refuse(`redirect ${kind} has no counterpart`)
}

function request(draft: FrontendDraft, words: readonly string[], line: Line, reading: Reading): void {
  const [said, condition] = splitAtCondition(words)
  const [verb = '', ...args] = said
  if (verb === 'redirect') return redirect(draft, 'requests', words.slice(1), line, reading)
  const [name = '', value = ''] = args
  if (verb === 'allow') draft.exempts = true
  else if (draft.exempts && (verb === 'deny' || verb === 'tarpit'))
    reading.remark(line, 'an earlier allow, which has no counterpart, made exceptions from it')
  const actions: Readonly<Record<string, () => Rule['do']>> = {
    deny: () => ({ type: 'deny', ...statusIn(args) }),
    // HAProxy answers 500 by default, and a rule of Fulcrum 403.
    tarpit: () => ({ type: 'tarpit', status: 500, ...statusIn(args) }),
    'set-header': () => ({ type: 'setHeader', name: headerName(name), value: plainText(value) }),
    'add-header': () => ({ type: 'addHeader', name: headerName(name), value: plainText(value) }),
    'del-header': () => ({ type: 'removeHeader', name: headerName(name) }),
  }
  const action = (entryOf(actions, verb) ?? (() => refuse(`http-request ${verb} has no counterpart`)))()
  if (verb === 'del-header' && args.length > 1) refuse('a match of header names has no counterpart')
  const before = draft.rules.requests.length
  add(draft, 'requests', condition, action)
  if (verb !== 'add-header' || draft.rules.requests.length - before < 2) return
  draft.rules.requests.length = before
  refuse('add-header with alternatives would add it twice')
}

interface Group {
  readonly ip: string
  readonly ports: string[]
  readonly fields: Readonly<Record<string, unknown>>
  readonly certificates: Set<string>
}

/** Groups ports that differ in nothing but their certificates; port 80 joins the ports to which it is redirected. */
function groupsOf({ binds: all, fields }: FrontendDraft): readonly Group[] {
  const taken = new Set(all.filter(({ isForOlder }) => !isForOlder).map(({ ip, ports }) => `${ip} ${ports}`))
  const binds = all.filter(({ isForOlder, ip, ports }) => !isForOlder || !taken.has(`${ip} ${ports}`))
  const groups = new Map<string, Group>()
  const redirects = fields['httpRedirectToHttps'] === true
  // The first bind of each address, because later entries overwrite earlier ones.
  const encrypted = new Map(binds.toReversed().flatMap((bind) => (bind.isTls ? [[bind.ip, bind] as const] : [])))
  const isPlain = ({ ports, isTls, fields: own, certificates }: Bind) =>
    ports === '80' && !isTls && Object.keys(own).length + certificates.length === 0
  for (const bind of binds) {
    const target = (redirects && isPlain(bind) ? encrypted.get(bind.ip) : undefined) ?? bind
    const { ip, isTls, fields: own, certificates } = target
    const key = JSON.stringify([ip, isTls, own])
    const group = groups.get(key) ?? { ip, ports: [], fields: own, certificates: new Set() }
    group.ports.push(bind.ports)
    for (const certificate of certificates) group.certificates.add(certificate)
    groups.set(key, group)
  }
  return [...groups.values()]
}

/** Whether Fulcrum itself makes the frontend wait for the name that a client asks for. */
export const waitsForHello = ({ mode, rules }: FrontendDraft, { certificates }: { certificates?: unknown }): boolean =>
  mode === 'tcp' && certificates === undefined && rules.backends.concat(rules.requests).some(asksForSni)

const asksForSni = ({ when }: Rule): boolean => when?.all.some(({ type }) => type === 'sni') === true

/** Returns the resulting frontends: one per address, split if ports differ in more than certificates. */
export function frontendsOf(draft: FrontendDraft): readonly Readonly<Record<string, unknown>>[] {
  const { mode, fields, timeouts, rules } = draft
  const all = [...rules.requests, ...rules.redirects, ...rules.backends]
  // HAProxy uses these only for HTTP, but every proxy inherits them from defaults.
  const shown = Object.fromEntries(Object.entries(timeouts).filter(([name]) => mode === 'http' || !OF_HTTP.has(name)))
  return groupsOf(draft).map((group) => ({
    mode,
    ip: group.ip,
    ports: group.ports.join(','),
    ...group.fields,
    ...(group.certificates.size === 0 ? {} : { certificates: [...group.certificates] }),
    ...(mode === 'http' && fields['forwardFor'] !== true ? { forwardFor: false } : {}),
    ...Object.fromEntries(Object.entries(fields).filter(([field]) => mode === 'http' || !HTTP_FIELDS.has(field))),
    ...(all.length === 0 ? {} : { rules: all }),
    ...(Object.keys(shown).length === 0 ? {} : { timeouts: shown }),
  }))
}
