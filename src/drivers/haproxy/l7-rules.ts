import { createHash } from 'node:crypto'
import type { L7Backend, L7Frontend } from '../../model/layer7.ts'
import { type Action, type Condition, conditionsOf, isCaseless, type Rule } from '../../model/l7-rules.ts'
import type { ConfigView } from '../../model/sections.ts'
import { partsOf, type Placeholder } from '../../rules/filled-text.ts'
import { repeatsGroups } from '../../rules/regex-fault.ts'
import { AS_OWN, pageOf, payloadOf } from './answers.ts'
import { addressesName, comparedAs, mapName, NO_BACKEND, ruleGroups } from './maps.ts'
import { PEERS } from './sharing.ts'
import { commentText, type Line, quote, quoted, inLines } from './statement.ts'
import { speaksTls } from './tls.ts'

/** Holds the chosen backend; HAProxy does not report which rule chose it. */
const CHOSEN = 'txn.fulcrum_backend'
const IS_CHOSEN = `{ var(${CHOSEN}) -m found }`
/** Redirects whose path begins with text from the client. Two slashes there, or backslashes, would begin a host. */
const MAY_LEAVE = /^(?:\{path\}|\/\{)/
const LOCATION = 'txn.fulcrum_location'
const ON_THIS_HOST = quoted(String.raw`%[var(${LOCATION}),regsub("^(/|\\\\)+",/)]`)
const HELLO_S = 5
/** Only a condition waits for the SNI of the client: an action alone would use what has arrived by then. */
const IS_NAMED = '{ req.ssl_sni -m found }'
const TARPIT_S = 10
/** Maximum number of keys in a table; the oldest are dropped. */
const LIMITED_ENTRIES = '1m'

interface Fetches {
  readonly of: Readonly<Record<Condition['type'], (name: string) => string>>
  readonly filled: Readonly<Record<Placeholder, (name: string) => string>>
}

const variable = (name: string) => `var(txn.rule_${name})`
const OF_BOTH = { source: () => 'src', port: () => 'dst_port', variable } as const
const never = () => ''

const OF_REQUESTS: Fetches = {
  of: {
    // Normalised as servers do: //%61dmin is /admin.
    path: () => 'path,url_dec,regsub(//+,/,g)',
    host: () => 'req.fhdr(host),host_only,lower,rtrim(.)',
    method: () => 'method',
    // Includes commas: a list of values counts as one text.
    header: (name) => `req.fhdr(${name})`,
    cookie: (name) => `req.cook(${name})`,
    query: (name) => `url_param(${name}),url_dec(1)`,
    source: () => 'src',
    sni: () => 'ssl_fc_sni,lower',
    status: never,
  },
  filled: {
    ...OF_BOTH,
    host: () => 'req.fhdr(host)',
    path: () => 'path',
    query: () => 'query',
    method: () => 'method',
    header: (name) => `req.fhdr(${name})`,
    cookie: (name) => `req.cook(${name})`,
  },
}
const OF_CONNECTIONS: Fetches = { ...OF_REQUESTS, of: { ...OF_REQUESTS.of, sni: () => 'req.ssl_sni,lower' } }
const OF_RESPONSES: Fetches = {
  ...OF_REQUESTS,
  of: { ...OF_REQUESTS.of, header: (name) => `res.fhdr(${name})`, status: () => 'status' },
}

const METHODS = { is: 'str', begins: 'beg', ends: 'end', contains: 'sub', regex: 'reg', in: 'ip' } as const

function operatorOf({ type, match = 'is' }: Condition): string {
  if (type === 'source') return '-m ip'
  if (type === 'status') return '-m int'
  return `-m ${METHODS[match]}${isCaseless(type) ? ' -i' : ''}`
}

/**
 * Lines of one ACL are alternatives: one of all their values must match. `addresses`: the file that holds the values.
 */
function aclLines(name: string, condition: Condition, fetches: Fetches, addresses?: string): readonly string[] {
  const fetch = fetches.of[condition.type](condition.name ?? '')
  if (condition.values.length === 0) return [`acl ${name} ${fetch} -m found`, ...bareLines(name, condition)]
  if (addresses !== undefined) return [`acl ${name} ${fetch} ${operatorOf(condition)} -f ${quote(addresses)}`]
  const words = condition.values.flatMap((value) => (value === '' ? [] : [wordOf(condition, value)]))
  const head = `acl ${name} ${fetch} ${operatorOf(condition)} --`
  // HAProxy reads an empty word as the end of the line.
  const hasEmpty = words.length < condition.values.length
  const empty = hasEmpty ? [`acl ${name} ${fetch} -m len 0`, ...bareLines(name, condition)] : []
  return [...inLines(words, (some) => `${head} ${some}`), ...empty]
}

/** A query parameter without =, and a cookie that is alone, are there and empty, but HAProxy does not find them. */
const BARE: Partial<Readonly<Record<Condition['type'], (name: string) => string>>> = {
  query: (name) => `query -m reg ${quoted(`(^|[&;])${literalRegex(name)}([&;]|$)`)}`,
  cookie: (name) => `req.fhdr(cookie) -m str -- ${quote(`${name}=`)}`,
}
const bareLines = (acl: string, { type, name = '' }: Condition): readonly string[] => {
  const bare = BARE[type]?.(name)
  return bare === undefined ? [] : [`acl ${acl} ${bare}`]
}

function wordOf({ type, match = 'is' }: Condition, value: string): string {
  // HAProxy writes number ranges with a colon.
  if (type === 'status') return value.replace('-', ':')
  return quote(match === 'is' || match === 'ends' ? comparedAs(type, value) : value)
}

/** Returns the condition at the end of a line, with a leading space. */
function conditionText(rule: Rule, at: number): string {
  const names = conditionsOf(rule).map(({ negate }, index) => `${negate === true ? '!' : ''}${aclName(at, index)}`)
  return names.length === 0 ? '' : ` if ${names.join(rule.when?.any === undefined ? ' ' : ' || ')}`
}

const aclName = (at: number, index: number): string => `r${at}c${index}`

/** Formats a text with placeholders as one word for HAProxy. */
function formatOf(text: string, { filled }: Pick<Fetches, 'filled'>): string {
  const parts = partsOf(text).map((part) =>
    typeof part === 'string' ? escaped(part) : `%[${filled[part.of](part.name)}]`,
  )
  return quoted(parts.join(''))
}

/** HAProxy interprets escapes such as \x0a in a path after filling it in, so those from clients are encoded. */
const withoutEscapes = (fetch: string) => String.raw`${fetch},regsub("\\\\",%5C,g)`

/** Placeholders in a path, where text from a client must not end the path. */
const IN_PATH: Fetches['filled'] = {
  ...OF_REQUESTS.filled,
  path: () => withoutEscapes('path'),
  query: () => withoutEscapes('query'),
  host: () => 'req.fhdr(host),url_enc',
  header: (name) => `req.fhdr(${name}),url_enc`,
  cookie: (name) => `req.cook(${name}),url_enc`,
  variable: (name) => `${variable(name)},url_enc`,
}

/** Escapes percent signs, which begin a placeholder. */
const escaped = (text: string) => text.replaceAll('%', '%%')

const literalRegex = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)

/** The parts for rendering a rule, each of whose lines ends with the condition. */
interface Rendering {
  readonly action: Action
  /** ` if …`, or empty for a rule without a condition. */
  readonly cond: string
  readonly fetches: Fetches
  readonly isServed: (backendId: string) => boolean
  /** For a limit: the index of its counter, of three per request. */
  readonly counter: number
  readonly table: string
  readonly errorPages?: L7Frontend['errorPages']
}

type Render = (rule: Rendering) => readonly string[]

const header =
  (verb: 'set-header' | 'add-header'): Render =>
  ({ action: { name, value = '' }, cond, fetches }) => [`${verb} ${name} ${formatOf(value, fetches)}${cond}`]

/** A new kind of action needs a row here, one where actions are verified, and its name in the model. */
const RENDERED: Readonly<Record<Action['type'], Render>> = {
  // A disabled backend answers as if there were none.
  backend: ({ action: { backendId = '' }, cond, isServed }) =>
    isServed(backendId)
      ? [`set-var(${CHOSEN}) str(${backendId})${cond}`, `allow if ${IS_CHOSEN}`]
      : [`deny deny_status 503${cond}`],
  redirect: ({ action: { to = '', status = 302 }, cond, fetches }) => {
    const format = formatOf(to, fetches)
    const line = (location: string) => `redirect location ${location} code ${status}${cond}`
    return MAY_LEAVE.test(to) ? [`set-var-fmt(${LOCATION}) ${format}${cond}`, line(ON_THIS_HOST)] : [line(format)]
  },
  deny: ({ action: { status = 403 }, cond }) => [`deny deny_status ${status}${cond}`],
  tarpit: ({ action: { status = 403 }, cond }) => [`tarpit deny_status ${status}${cond}`],
  respond: ({ action: { status = 200, contentType = 'text/plain', body = '' }, cond }) => [
    `return status ${status}${payloadOf(contentType, body)}${cond}`,
  ],
  limit: ({ action, cond, counter, table, errorPages }) => {
    const { rate = 0, burst = 0, over = 1, answer = 429 } = action
    const page = pageOf(errorPages, answer) ?? payloadOf('text/plain', 'Too many requests')
    // Only requests that the first line has tracked have this counter. Refused ones do not count: otherwise none would
    // be admitted as long as too many are sent.
    const beyond = `{ sc_gpc0_rate(${counter}) ge ${rate + burst} }`
    return [
      `track-sc${counter} ${keyOf(action)} table ${table}${cond}`,
      `return status ${answer}${page}${AS_OWN} hdr Retry-After ${over} if ${beyond}`,
      `sc-inc-gpc0(${counter})`,
    ]
  },
  setHeader: header('set-header'),
  addHeader: header('add-header'),
  removeHeader: ({ action: { name }, cond }) => [`del-header ${name}${cond}`],
  rewritePath: ({ action: { value = '', to = '', match = 'begins' }, cond }) => {
    // HAProxy replaces the whole path by the text.
    const [regex, by] =
      match === 'regex' ? [value, to] : [`^${literalRegex(value)}(.*)`, `${to.replaceAll('\\', '\\\\')}\\1`]
    return [`replace-path ${quoted(regex)} ${formatOf(by, { filled: IN_PATH })}${cond}`]
  },
  setVariable: ({ action: { name = '', value = '' }, cond, fetches }) => [
    `set-var-fmt(txn.rule_${name}) ${formatOf(value, fetches)}${cond}`,
  ],
}

/** Actions on connections; all others apply to requests. */
const OF_TCP: Partial<Readonly<Record<Action['type'], Render>>> = {
  backend: ({ action: { backendId = '' }, cond, isServed }) =>
    isServed(backendId) ? [`set-var(${CHOSEN}) str(${backendId})${cond}`, `accept if ${IS_CHOSEN}`] : [`reject${cond}`],
  deny: ({ cond }) => [`reject${cond}`],
}

const aclsOf = (rule: Rule, at: number, fetches: Fetches, addresses?: (index: number) => string) =>
  conditionsOf(rule).flatMap((condition, index) =>
    aclLines(aclName(at, index), condition, fetches, condition.type === 'source' ? addresses?.(index) : undefined),
  )

/**
 * Refuses texts with which HAProxy cannot compare a regular expression: its matcher has 32 KiB for the repetitions of
 * groups, and beyond that neither the expression nor its opposite matches.
 */
function undecided(rule: Rule, at: number, { of }: Fetches): readonly string[] {
  return conditionsOf(rule).flatMap((condition, index) => {
    const { type, match, values } = condition
    if (match !== 'regex' || (type !== 'path' && type !== 'host')) return []
    const fetch = of[type]('')
    return values.filter(repeatsGroups).map((value) => {
      const opposite = `{ ${fetch} ${operatorOf(condition)} ${quoted(`^(?!(?s:.*?)(?:${value}))`)} }`
      return `deny deny_status 400 if !${aclName(at, index)} { ${fetch} -m found } !${opposite}`
    })
  })
}

/**
 * Requests without a proper path are refused where rules test or count paths; otherwise a rule that refuses some paths
 * could be bypassed. Clients remove dot segments before they send a path (RFC 3986, section 6.2.2.3), some servers drop
 * what follows ; in a segment, and HAProxy compares a text only up to NUL.
 */
const NO_PATH = "deny deny_status 400 if !{ path,url_dec -m found } || { path,url_dec -m reg '/\\.\\.?([/;]|$)|\\x00' }"
/** A server that changes to HTTP/2 would receive all further requests of the connection unseen by the rules. */
const NO_H2C = 'del-header Upgrade if { req.fhdr(upgrade) -m sub -i h2c }'
/** HTTP/1.0 needs no Host header, and the server may take the host of the request line instead. */
const NO_HOST = 'deny deny_status 400 if !{ req.fhdr(host) -m found } !{ url -m beg / * }'
function noQuery(name: string): string {
  const [sent, decoded] = [`url_param(${name})`, `url_param(${name}),url_dec(1)`]
  return String.raw`deny deny_status 400 if { ${sent} -m found } !{ ${decoded} -m found } || { ${decoded} -m reg '\x00' }`
}

/** To servers a name with encoded letters is the same, to HAProxy, which reads ; like &, it is another one. */
function noOtherSpelling(name: string): string {
  const letters = Array.from(name, (letter) => {
    const code = letter
      .charCodeAt(0)
      .toString(16)
      .replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
    return `(${literalRegex(letter)}|%${code})`
  })
  const end = '([=&;]|$)'
  return `deny deny_status 400 if { query -m reg ${quoted(`(^|[&;])(?!${literalRegex(name)}${end})${letters.join('')}${end}`)} }`
}

const testsPaths = (rules: readonly Rule[]): boolean =>
  rules.some(({ do: { type, per } }) => type === 'limit' && per === 'path') ||
  rules.some((rule) => conditionsOf(rule).some(({ type }) => type === 'path'))

/** A part of a segment can be left as a segment of its own: with /b/ in place of /a, /a../c becomes /b/../c. */
const rewritten = ({ do: { type } }: Rule, isTested: boolean): readonly string[] =>
  type === 'rewritePath' && isTested ? [NO_PATH] : []

function malformed(rules: readonly Rule[]): readonly string[] {
  const conditions = rules.flatMap(conditionsOf)
  const names = new Set(conditions.flatMap(({ type, name }) => (type === 'query' && name !== undefined ? [name] : [])))
  return [
    ...(rules.length > 0 ? [NO_H2C] : []),
    ...(testsPaths(rules) ? [NO_PATH] : []),
    ...(conditions.some(({ type }) => type === 'host') ? [NO_HOST] : []),
    ...[...names].flatMap((name) => [noQuery(name), noOtherSpelling(name)]),
  ]
}

/**
 * The rules of a frontend; evaluation ends at the first that chooses a backend, answers or refuses. `folder`: location
 * of its maps.
 */
export function frontendRules(frontend: L7Frontend, view: ConfigView, folder: string): readonly Line[] {
  const { id, rules = [], mode, errorPages } = frontend
  const isServed = (backendId: string) => view.get('l7Backends', backendId)?.enabled === true
  const isPassed = mode === 'tcp' && !speaksTls(frontend)
  const speech = mode === 'http' ? OF_REQUESTS_SAID : OF_CONNECTIONS_SAID
  const fetches = isPassed ? OF_CONNECTIONS : OF_REQUESTS
  const tables = limitsOf(frontend)
  const isTested = testsPaths(rules)
  const lines = ruleGroups(rules).flatMap((group, place): Line[] => {
    const said = (text: string): Line => [`${speech.keyword} ${text}`, `rules.${group.at}`]
    if (group.lookedUp !== undefined)
      return lookUp(group.lookedUp, `${folder}/${mapName(id, place)}`, fetches, speech).map(said)
    return group.rules.flatMap((rule) => {
      const counter = tables.findIndex((limit) => limit.at === group.at)
      const cond = conditionText(rule, place)
      const table = tables[counter]?.name ?? ''
      const parts = { action: rule.do, cond, fetches, isServed, counter, table, errorPages }
      const done = [...(speech.rendering[rule.do.type]?.(parts) ?? []), ...rewritten(rule, isTested)]
      const texts = [...undecided(rule, place, fetches), ...done]
      const acls = aclsOf(rule, place, fetches, (index) => `${folder}/${addressesName(id, place, index)}`)
      return ruleLines(rule, group.at, [...acls, ...texts.map((text) => `${speech.keyword} ${text}`)])
    })
  })
  const has = (type: Action['type']) => rules.some((rule) => rule.do.type === type)
  return [
    ...(isPassed && rules.some(asksForSni) ? [ofAll(`tcp-request inspect-delay ${HELLO_S}s`)] : []),
    ...(has('tarpit') ? [ofAll(`timeout tarpit ${TARPIT_S}s`)] : []),
    ...(mode === 'http' ? malformed(rules).map((text) => ofAll(`http-request ${text}`)) : []),
    ...lines,
    ...(has('backend') ? [ofAll(`use_backend %[var(${CHOSEN})] if ${IS_CHOSEN}`)] : []),
  ]
}

/** The keywords of rules for requests and for connections. */
interface Speech {
  readonly keyword: string
  readonly rendering: Partial<Readonly<Record<Action['type'], Render>>>
  readonly take: string
  readonly refuse: string
}
const OF_REQUESTS_SAID: Speech = {
  keyword: 'http-request',
  rendering: RENDERED,
  take: 'allow',
  refuse: 'deny deny_status 503',
}
const OF_CONNECTIONS_SAID: Speech = {
  keyword: 'tcp-request content',
  rendering: OF_TCP,
  take: 'accept',
  refuse: 'reject',
}

/** Without a matching entry in the map, the variable stays unset. */
function lookUp(condition: Condition, map: string, fetches: Fetches, { take, refuse }: Speech): readonly string[] {
  const method = condition.match === 'begins' ? 'map_beg' : 'map_str'
  const file = /^[\w./-]+$/.test(map) ? map : `"${map}"`
  const cond = fetches === OF_CONNECTIONS ? ` if ${IS_NAMED}` : ''
  return [
    `set-var(${CHOSEN}) ${quote(`${fetches.of[condition.type]('')},${method}(${file})`)}${cond}`,
    `${refuse} if { var(${CHOSEN}) -m str -- ${NO_BACKEND} }`,
    `${take} if ${IS_CHOSEN}`,
  ]
}

const ofAll = (text: string): Line => [text, 'rules']

/** Returns the lines of a rule, preceded by its name. */
function ruleLines({ name = '' }: Rule, at: number, texts: readonly string[]): Line[] {
  const field = `rules.${at}`
  const title: readonly Line[] = name === '' ? [] : [[`# ${commentText(name)}`, `${field}.name`]]
  return [...title, ...texts.map((text): Line => [text, field])]
}

/** The rules of a backend, which apply to its responses. */
export function backendRules({ rules = [] }: Pick<L7Backend, 'rules'>): readonly Line[] {
  return rules.flatMap((rule, at): Line[] => {
    const action = rule.do
    const cond = conditionText(rule, at)
    const parts = { action, cond, fetches: OF_RESPONSES, isServed: () => false, counter: 0, table: '' }
    const texts = RENDERED[action.type](parts).map((text) => `http-response ${text}`)
    return ruleLines(rule, at, [...aclsOf(rule, at, OF_RESPONSES), ...texts])
  })
}

const asksForSni = (rule: Rule) => conditionsOf(rule).some(({ type }) => type === 'sni')

/** Texts are counted by their digest: tokens of one issuer begin alike, and a table cuts keys to a fixed length. */
function keyOf({ per = 'source', name = '' }: Action): string {
  const fetch = OF_REQUESTS.of[per](name)
  return per === 'source' ? fetch : `${fetch},sha1`
}

interface Limit {
  readonly at: number
  /** Name of the table. */
  readonly name: string
  readonly statement: string
}

/**
 * Returns the tables for the limits of a frontend: a table stays the same while its limit does, even if the rule moves.
 */
export function limitsOf({ id, rules = [] }: Pick<L7Frontend, 'id' | 'rules'>): readonly Limit[] {
  const seen = new Map<string, number>()
  return rules.flatMap(({ when, do: action }, at): Limit[] => {
    if (action.type !== 'limit') return []
    const { per = 'source', over = 1 } = action
    const content = JSON.stringify([id, when, keyOf(action), over])
    const count = seen.get(content) ?? 0
    seen.set(content, count + 1)
    const table = `limit_${createHash('sha256').update(`${count} ${content}`).digest('hex').slice(0, 16)}`
    const type = per === 'source' ? 'ipv6' : 'binary len 20'
    const statement = `table ${table} type ${type} size ${LIMITED_ENTRIES} expire ${over}s store gpc0_rate(${over}s)`
    return [{ at, name: `${PEERS}/${table}`, statement }]
  })
}
