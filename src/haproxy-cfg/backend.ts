import { isIP } from 'node:net'
import { isHostName } from '../base/host-name.ts'
import { type Line, secondsOf } from './lines.ts'
import { entryOf, refuse, type Reading } from './reading.ts'
import { forwardedFor, headerName, modeOf, plainText, takeOptions, wholeNumber, wholeSeconds } from './taken.ts'

export interface Server {
  readonly name: string
  readonly ip: string
  readonly port: number | null
  /** HAProxy resolves a name without `resolvers` once, at its start, through the system. */
  readonly resolve: { readonly resolve?: 'start' }
  readonly isHalted: boolean
  readonly isChecked: boolean
  /** The place to check its health, in words of a server line; '' for the place where it serves. */
  readonly checkedAt: string
  readonly member: Readonly<Record<string, unknown>>
}

/** The default expiry of a stick table. */
const STICK_S = 1800

/** The result of the lines of one backend so far. */
export class BackendDraft {
  readonly fields: Record<string, unknown> = {}
  readonly timeouts: Record<string, number> = {}
  readonly check: Record<string, unknown> = {}
  readonly servers: Server[] = []
  readonly rules: Readonly<Record<string, unknown>>[] = []
  /** The options of default-server, with which each server begins. */
  defaults: ServerOptions = {
    verify: '',
    check: {},
    checkedAt: {},
    member: {},
    isHalted: false,
    isChecked: false,
    isFollowed: false,
  }
  mode = 'tcp'
  cookieName: string | undefined
  httpReuse: string | undefined
  stickFor = STICK_S
  stickTable: Line | undefined
  sticks: Line | undefined
  /** Lines about how servers are checked. */
  readonly checks: Line[] = []
  /** The line that adds X-Forwarded-For. */
  forwardFor: Line | undefined
  /** Lines that have a meaning only in mode http. */
  readonly ofHttp: Line[] = []

  /** HAProxy heeds a cookie first, and the table only for clients without it. */
  get isByCookie(): boolean {
    return this.mode === 'http' && this.cookieName !== undefined
  }
}

type Take = (draft: BackendDraft, words: readonly string[], line: Line, reading: Reading) => void

const BALANCES: ReadonlySet<string> = new Set(['roundrobin', 'leastconn', 'source', 'uri', 'random', 'first'])
/** Fulcrum's cookies are always HttpOnly, and Secure on TLS. */
const COOKIE: ReadonlySet<string> = new Set(['insert', 'indirect', 'nocache', 'httponly', 'secure'])
const REUSES: ReadonlySet<string> = new Set(['never', 'safe', 'aggressive', 'always'])

/** Handlers for the keywords of backends; a line whose handler throws is not understood. */
const TAKEN: Readonly<Record<string, Take>> = {
  mode: (draft, [mode]) => void (draft.mode = modeOf(mode)),
  balance: (draft, [name = '', ...more]) => {
    if (more.length > 0) refuse('options of balance have no counterpart')
    draft.fields['balance'] = BALANCES.has(name) ? name : refuse(`balance ${name} has no counterpart`)
  },
  disabled: ({ fields }) => void (fields['enabled'] = false),
  enabled: ({ fields }) => void (fields['enabled'] = true),
  timeout: (draft, [which = '', time], line, reading) => {
    const seconds = (most?: number) => wholeSeconds(line, time, reading, most)
    if (which === 'connect') draft.fields['timeoutConnect'] = seconds(3600)
    else if (which === 'server') draft.fields['timeoutServer'] = seconds()
    else
      draft.timeouts[entryOf(TIMEOUTS, which) ?? refuse(`timeout ${which} has no counterpart`)] = seconds(
        which === 'check' ? 3600 : undefined,
      )
  },
  option: (draft, words, line, reading) => optionOf(draft, words, line, reading),
  'http-check': (draft, words, line) => {
    httpCheck(draft, words)
    draft.checks.push(line)
  },
  'http-response': (draft, words, line) => {
    response(draft, words)
    draft.ofHttp.push(line)
  },
  cookie: (draft, [name = '', ...options], line, reading) => {
    if (!options.includes('insert')) refuse('only a cookie that is inserted has a counterpart')
    const strange = options.find((option) => !COOKIE.has(option))
    if (strange !== undefined) refuse(`the option ${strange} of a cookie has no counterpart`)
    if (!/^[\w-]{1,64}$/.test(name)) refuse(`${name} as the name of a cookie has no counterpart`)
    draft.cookieName = name
    draft.ofHttp.push(line)
    reading.remark(line, 'servers get new cookie values: clients are balanced anew once')
    const without = ['indirect', 'nocache'].filter((option) => !options.includes(option))
    if (without.length > 0) reading.remark(line, `cookies of Fulcrum are ${without.join(' and ')}`)
  },
  'stick-table': (draft, words, line, reading) => {
    if (words[0] !== 'type' || !/^(ip|ipv6)$/.test(words[1] ?? '')) refuse('only addresses are tracked')
    const at = words.indexOf('expire')
    draft.stickFor = Math.ceil((at < 0 ? undefined : secondsOf(words[at + 1])) || STICK_S)
    if (at < 0) reading.remark(line, `without expire, addresses are forgotten after ${STICK_S} seconds`)
    if (words.includes('peers'))
      reading.remark(line, 'nodes of Fulcrum share this table automatically, and not with other peers')
    if (words.includes('store')) reading.remark(line, 'other stored data has no counterpart')
    draft.stickTable = line
  },
  stick: (draft, words, line) => {
    if (words.join(' ') !== 'on src') refuse('only stick on src has a counterpart')
    draft.sticks = line
  },
  'http-reuse': (draft, [how = ''], line) => {
    draft.httpReuse = REUSES.has(how) ? how : refuse(`http-reuse ${how} has no counterpart`)
    draft.ofHttp.push(line)
  },
  'default-server': (draft, words, line, reading) => {
    draft.defaults = serverOptions(draft.defaults, words, line, reading)
    if (words.includes('port') || words.includes('addr')) draft.checks.push(line)
  },
  server: (draft, words, line, reading) => {
    const server = serverOf(draft, words, line, reading)
    const [first = server] = draft.servers
    if (first.isChecked !== server.isChecked) reading.remark(line, 'Fulcrum checks all servers of a backend, or none')
    const checked = draft.servers.find(({ isChecked }) => isChecked) ?? server
    if (server.isChecked && server.checkedAt !== checked.checkedAt)
      refuse('a backend has one port and address for the checks of all its servers')
    draft.servers.push(server)
  },
}
export const BACKEND: ReadonlyMap<string, Take> = new Map(Object.entries(TAKEN))

const TIMEOUTS: Readonly<Record<string, string>> = {
  queue: 'queue',
  tunnel: 'tunnel',
  'server-fin': 'serverFin',
  check: 'check',
}

const OTHER_CHECKS: ReadonlySet<string> = new Set([
  'mysql-check',
  'pgsql-check',
  'redis-check',
  'smtpchk',
  'ldap-check',
  'ssl-hello-chk',
  'spop-check',
  'external-check',
])

function optionOf(draft: BackendDraft, [name = '', ...more]: readonly string[], line: Line, reading: Reading): void {
  if (name === 'forwardfor') {
    forwardedFor(more, line, reading)
    draft.forwardFor = line
  } else if (name === 'tcp-check') {
    draft.check['type'] = 'tcp'
    draft.checks.push(line)
  } else if (OTHER_CHECKS.has(name)) {
    // Servers of this kind would fail the HTTP check that defaults may ask for.
    draft.check['type'] = 'tcp'
    refuse(`option ${name} has no counterpart here: servers are checked by a connection`)
  } else if (name !== 'httpchk') refuse(`option ${name} has no counterpart`)
  else httpchkOf(draft, more, line, reading)
}

function httpchkOf(draft: BackendDraft, words: readonly string[], line: Line, reading: Reading): void {
  const [method = 'OPTIONS', path = '/', ...version] = words.length === 1 ? ['OPTIONS', words[0]] : words
  if (!path.startsWith('/')) refuse(`the path ${path} of a check has no counterpart`)
  draft.checks.push(line)
  draft.check['type'] = 'http'
  draft.check['path'] = path
  const [, ...headers] = version.join(' ').split(/(?:[\r\n]|\\[rn])+/)
  for (const header of headers) {
    const [, name = '', value = ''] = /^([^:]*):?\s*(.*?)\s*$/.exec(header) ?? []
    if (name.toLowerCase() === 'host' && /^\S+$/.test(value)) draft.check['host'] = value
    else if (name !== '') reading.remark(line, `the header ${name} of a check has no counterpart`)
  }
  if (method !== 'GET') reading.remark(line, 'Fulcrum checks with GET')
}

const HEADERS: Readonly<Record<string, string>> = {
  'set-header': 'setHeader',
  'add-header': 'addHeader',
  'del-header': 'removeHeader',
}

function response({ rules }: BackendDraft, [verb = '', name = '', value, ...more]: readonly string[]): void {
  const type = entryOf(HEADERS, verb) ?? refuse(`http-response ${verb} has no counterpart`)
  if (more.length > 0 || /^(if|unless)$/.test(value ?? '')) refuse('a condition on responses has no counterpart here')
  rules.push({
    do: { type, name: headerName(name), ...(type === 'removeHeader' ? {} : { value: plainText(value ?? '') }) },
  })
}

function httpCheck({ check }: BackendDraft, [verb = '', ...words]: readonly string[]): void {
  if (verb === 'expect') check['expect'] = expectOf(words)
  else if (verb === 'send') Object.assign(check, sentBy(words))
  else refuse(`http-check ${verb} has no counterpart`)
}

/** Parses `status 200-399`, and `rstatus` with `^2` or `^[23]`. */
function expectOf([kind = '', value = '', ...more]: readonly string[]): string {
  if (more.length > 0) refuse('it has no counterpart')
  if (kind === 'status') return value
  const [, one, from = one, to = from] =
    /^\^(?:([1-5])|\[([1-5])-?([1-5])\])(?:\[0-9\]|\\d|\.){0,2}\$?$/.exec(value) ?? []
  const isRange = from !== undefined && (value.includes('-') || Number(to) - Number(from) < 2)
  return kind === 'rstatus' && isRange ? `${from}00-${to}99` : refuse(`http-check expect ${kind} has no counterpart`)
}

/** Parses the request of `meth GET uri /x ver HTTP/1.1 hdr Host a`. */
function sentBy(words: readonly string[]): Readonly<Record<string, string>> {
  const text = words.join(' ')
  const [, uri, host] =
    /^(?:meth GET ?)?(?:uri (\S+) ?)?(?:ver \S+ ?)?(?:hdr host (\S+))?$/i.exec(text) ?? refuse('it has no counterpart')
  return { ...(uri === undefined ? {} : { path: uri }), ...(host === undefined ? {} : { host }) }
}

interface ServerOptions {
  verify: string
  readonly check: Record<string, unknown>
  readonly checkedAt: { addr?: string; port?: number }
  readonly member: Record<string, unknown>
  isHalted: boolean
  isChecked: boolean
  /** Whether its name is resolved repeatedly. */
  isFollowed: boolean
}

interface ServerDraft extends ServerOptions {
  /** Parses a time into whole seconds, and adds remarks to the line. */
  readonly seconds: (text: string) => number
  readonly remark: (why: string) => void
}

const left =
  (word: string) =>
  ({ remark }: ServerDraft, value: () => string): void =>
    remark(`${word} ${value()} has no counterpart`)

/** Handlers for the options of a server. */
const SERVER: Readonly<Record<string, (draft: ServerDraft, value: () => string) => void>> = {
  check: (draft) => void (draft.isChecked = true),
  disabled: (draft) => void (draft.isHalted = true),
  weight: ({ member }, value) => void (member['weight'] = wholeNumber(value())),
  maxconn: ({ member }, value) => {
    const count = wholeNumber(value())
    // 0 means no limit, also where default-server has one.
    if (count === 0) delete member['maxConn']
    else member['maxConn'] = count
  },
  backup: ({ member }) => void (member['backup'] = true),
  ssl: ({ member }) => void (member['encrypted'] = true),
  verify: (draft, value) => void (draft.verify = value()),
  sni: ({ member }, value) => {
    member['sni'] =
      /^str\(([A-Za-z0-9.-]{1,253})\)$/.exec(value())?.[1] ?? refuse('only sni str(NAME) has a counterpart')
  },
  'send-proxy-v2': ({ member }) => void (member['sendProxy'] = true),
  inter: ({ check, seconds }, value) => void (check['interval'] = seconds(value())),
  rise: ({ check }, value) => void (check['rise'] = wholeNumber(value())),
  fall: ({ check }, value) => void (check['fall'] = wholeNumber(value())),
  port: ({ checkedAt }, value) => void (checkedAt.port = wholeNumber(value())),
  addr: ({ checkedAt }, value) => {
    const addr = value()
    checkedAt.addr = isIP(addr) === 0 ? refuse(`addr ${addr} is not an address`) : addr
  },
  resolvers: (draft, value) => {
    draft.isFollowed = true
    draft.remark(`resolvers ${value()} has no counterpart: the name servers of the machine are used`)
  },
  // Fulcrum gives servers its own cookie values.
  cookie: (_draft, value) => void value(),
  ...Object.fromEntries(
    ['id', 'init-addr', 'resolve-prefer', 'on-marked-down', 'ca-file', 'alpn', 'observe', 'slowstart']
      .concat(['minconn', 'maxqueue', 'fastinter', 'downinter'])
      .map((word) => [word, left(word)]),
  ),
}

/** Applies the options of one line to earlier ones, without changing those. */
function serverOptions(before: ServerOptions, words: readonly string[], line: Line, reading: Reading): ServerOptions {
  const { check, checkedAt, member } = before
  const own = { ...before, check: { ...check }, checkedAt: { ...checkedAt }, member: { ...member } }
  const seconds = (text: string) => wholeSeconds(line, text, reading, 3600)
  const remark = (why: string) => reading.remark(line, why)
  return takeOptions<ServerDraft>(SERVER, words, { ...own, seconds, remark })
}

function serverOf({ check, defaults }: BackendDraft, words: readonly string[], line: Line, reading: Reading): Server {
  const [name = '', address = '', ...options] = words
  const remark = (why: string) => reading.remark(line, why)
  const asked = serverOptions(defaults, options, line, reading)
  const { member, isHalted, isChecked, verify, check: own } = asked
  const place = addressOf(address)
  const resolve = isIP(place.ip) === 0 && !asked.isFollowed ? ({ resolve: 'start' } as const) : {}
  // HAProxy verifies unless it is told not to.
  if (member['encrypted'] === true && verify !== 'none') {
    if (member['sni'] === undefined) remark('its certificate is no longer verified: use sni str(NAME)')
    else member['verify'] = true
  }
  for (const [field, value] of Object.entries(own)) {
    if (check[field] !== undefined && check[field] !== value)
      remark(`a backend has one ${field} for all of its servers`)
    check[field] = value
  }
  const checkedAt = Object.entries(asked.checkedAt).map((pair) => pair.join(' '))
  return { name, ...place, resolve, isHalted, isChecked, checkedAt: checkedAt.toSorted().join(' '), member }
}

/** Returns raw lines for checks at another place, for which records have no field. */
export function checkedAtLines({ servers }: BackendDraft): readonly string[] {
  const at = servers.find(({ isChecked }) => isChecked)?.checkedAt ?? ''
  return at === '' ? [] : [`default-server ${at}`]
}

function addressOf(text: string): { readonly ip: string; readonly port: number | null } {
  const [, bracketed, plain, port] =
    /^(?:\[([^\]]+)\]|([^:/@$]+))(?::(\d+))?$/.exec(text.replace(/^(ipv4|ipv6)@/, '')) ?? []
  const ip = bracketed ?? plain ?? refuse(`${text} is not the address of a server`)
  if (/^(0\.0\.0\.0|[0:]+)$/.test(ip)) refuse(`${ip} is the address that the client connected to, not a server's`)
  if (isIP(ip) === 0 && !isHostName(ip) && !/^_[\w-]+\._(tcp|udp)\./.test(ip)) refuse(`${ip} is not a host name`)
  return { ip, port: port === undefined || port === '0' ? null : wholeNumber(port) }
}

/** Returns the resulting backend, without its servers. */
export function backendOf(draft: BackendDraft): Record<string, unknown> {
  const { mode, fields, timeouts, check, servers, cookieName, httpReuse, rules, sticks, stickFor, isByCookie } = draft
  const { interval, rise, fall, ...others } = check
  // HAProxy ignores http-check and the request of httpchk when another check takes precedence.
  const asked = others['type'] === 'http' ? others : {}
  const pace = Object.fromEntries(Object.entries({ interval, rise, fall }).filter(([, value]) => value !== undefined))
  const healthCheck = servers.some(({ isChecked }) => isChecked) ? { type: 'tcp', ...asked, ...pace } : { type: 'none' }
  const ofHttp = {
    ...(httpReuse === undefined ? {} : { httpReuse }),
    ...(cookieName === undefined ? {} : { persistence: { type: 'cookie', cookieName } }),
    ...(rules.length === 0 ? {} : { rules }),
  }
  return {
    mode,
    ...fields,
    ...(mode === 'http' ? ofHttp : {}),
    ...(sticks !== undefined && !isByCookie ? { persistence: { type: 'ip', timeout: stickFor } } : {}),
    healthCheck,
    ...(Object.keys(timeouts).length === 0 ? {} : { timeouts }),
  }
}
