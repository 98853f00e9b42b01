import { parseNetwork } from '../base/ip-network.ts'
import { regexFault } from '../rules/regex-fault.ts'
import { entryOf, NotUnderstood, refuse } from './reading.ts'

/** Converts ACLs and the words after `if` into conditions of rules. */

/** A condition of a rule, in the form of a document. */
export interface Condition {
  readonly type: string
  readonly match?: string
  readonly name?: string
  readonly values: readonly string[]
  readonly negate?: boolean
}

type Fetch = readonly [type: string, match: string]

/** Fetches and their suffixed forms (manual, 7.3), with their type and match in a rule. */
const FETCHES: Readonly<Record<string, Fetch>> = {
  path: ['path', 'is'],
  path_beg: ['path', 'begins'],
  path_end: ['path', 'ends'],
  path_sub: ['path', 'contains'],
  path_reg: ['path', 'regex'],
  method: ['method', 'is'],
  src: ['source', 'in'],
  ssl_fc_sni: ['sni', 'is'],
  ssl_fc_sni_end: ['sni', 'ends'],
  ssl_fc_sni_reg: ['sni', 'regex'],
  'req.ssl_sni': ['sni', 'is'],
  req_ssl_sni: ['sni', 'is'],
}
const FLAGS: Readonly<Record<string, string>> = {
  str: 'is',
  beg: 'begins',
  end: 'ends',
  sub: 'contains',
  reg: 'regex',
  found: 'there',
}
const NAMED: Readonly<Record<string, string>> = {
  hdr: 'header',
  'req.hdr': 'header',
  req_hdr: 'header',
  cook: 'cookie',
  'req.cook': 'cookie',
  url_param: 'query',
  urlp: 'query',
}
const SUFFIXES: Readonly<Record<string, string>> = {
  '': 'is',
  _beg: 'begins',
  _end: 'ends',
  _sub: 'contains',
  _reg: 'regex',
  _found: 'there',
}

/** Converts the words of an ACL: a fetch, its flags and the values. */
export function conditionOf(words: readonly string[]): Condition {
  const [fetch = '', ...rest] = words
  const { type, name, match: ofFetch } = fetchOf(fetch)
  const { match = ofFetch, isCaseless, values } = flagsOf(rest)
  const isThere = match === 'there'
  if (values.length === 0 && !isThere) refuse('it has no value to compare with')
  if (isThere && name === undefined) refuse(`a test for the presence of ${type} has no counterpart`)
  const compared = comparisonOf(type, name, { match, isCaseless, values: isThere ? [] : values })
  for (const value of compared.values) if (compared.match === 'regex') refuseRegex(type, value)
  for (const value of isThere ? [] : values) refuseValue(type, match, value)
  return tidy({ type, ...(name === undefined ? {} : { name }), ...compared })
}

function comparisonOf(type: string, name: string | undefined, { match, isCaseless, values }: Required<Flags>) {
  const isAnyCase = isCaseless && !CASELESS.has(type) && values.some((value) => /[a-z]/i.test(value))
  const isOfList = type === 'header' && isList(name) && entryOf(OF_LISTS, match) !== undefined
  if (!isAnyCase && !isOfList) return { match, values }
  const [flag, anchors] = [isAnyCase ? '(?i)' : '', isOfList ? OF_LISTS : ANCHORS]
  return { match: 'regex', values: values.map((value) => `${flag}${patternOf(value, match, anchors)}`) }
}

/** An optional port, a class, and the beginning of a group: colons that a host without a port can match. */
const NO_PORT = /\((?:\?:)?:[^()]*\)[?*]|:[?*]|\[\^[^\]]*\]|\[:\w+:\]|\(\?[:i]/g

function refuseRegex(type: string, value: string): void {
  const fault = regexFault(value)
  if (fault !== undefined) refuse(`a regular expression ${fault}`)
  if (type === 'host' && value.replaceAll(NO_PORT, '').includes(':'))
    refuse('a port in a regular expression for hosts has no counterpart')
  if (DECODED.has(type) && /%[\da-f]{2}/i.test(value)) refuse(NEVER)
}

/** Types that rules decode before they compare: a text that is encoded itself would match no request. */
const DECODED: ReadonlySet<string> = new Set(['path', 'query'])
const NEVER = 'rules compare decoded text, with single slashes: this would match nothing'
const HOST = /^(?:[\w.-]{1,253}|\[[\da-f:.]{2,45}\])(?::\d+)?$/i

/** Tests for values that rules refuse, or that would match nothing. */
const REFUSED: Readonly<Record<string, (value: string, match: string) => boolean>> = {
  path: (value, match) => !value.startsWith('/') && (match === 'is' || match === 'begins'),
  host: (value, match) => (match === 'is' ? !HOST.test(value) : /^:\d*$|:$/.test(value)),
  sni: (value, match) => match === 'is' && !HOST.test(value),
  source: (value) => parseNetwork(value) === undefined,
  method: (value) => !/^[A-Z]{1,20}$/.test(value),
}

function refuseValue(type: string, match: string, value: string): void {
  if (match === 'regex') return
  if (DECODED.has(type) && /%[\da-f]{2}/i.test(value)) refuse(NEVER)
  if (type === 'path' && value.includes('//')) refuse(NEVER)
  if (entryOf(REFUSED, type)?.(value, match) === true || (value === '' && match !== 'is'))
    refuse(`${value} as a value for ${type} has no counterpart`)
}

interface Flags {
  readonly match?: string
  readonly isCaseless: boolean
  readonly values: readonly string[]
}

/** Parses the words before the values: `-i`, `-m str`, `--`. */
function flagsOf(words: readonly string[]): Flags {
  let [match, isCaseless, at]: [string | undefined, boolean, number] = [undefined, false, 0]
  for (; at < words.length; at++) {
    const flag = words[at] ?? ''
    if (flag === '-i') isCaseless = true
    else if (flag === '-m') {
      at += 1
      const method = words[at] ?? ''
      match = entryOf(FLAGS, method) ?? refuse(`the match -m ${method} has no counterpart`)
    } else if (flag.startsWith('-') && flag !== '--') refuse(`the flag ${flag} has no counterpart`)
    else break
  }
  const values = words.slice(words[at] === '--' ? at + 1 : at)
  return { ...(match === undefined ? {} : { match }), isCaseless, values }
}

/** Types that rules compare without regard to case, or that have no case. */
const CASELESS: ReadonlySet<string> = new Set(['host', 'sni', 'method', 'source'])

type Anchors = Readonly<Record<string, readonly [string, string]>>

const ANCHORS: Anchors = {
  is: ['^', '$'],
  begins: ['^', ''],
  ends: ['', '$'],
  contains: ['', ''],
}
/** HAProxy compares each value of a list (manual, req.hdr), and rules compare the whole header. */
const OF_LISTS: Anchors = {
  is: ['(?:^|,)\\s*', '\\s*(?:,|$)'],
  begins: ['(?:^|,)\\s*', ''],
  ends: ['', '\\s*(?:,|$)'],
}
/** Headers that are lists: browsers send `Connection: keep-alive, Upgrade`. */
const LISTS: ReadonlySet<string> = new Set([
  'accept',
  'accept-charset',
  'accept-encoding',
  'accept-language',
  'access-control-request-headers',
  'cache-control',
  'connection',
  'expect',
  'forwarded',
  'if-match',
  'if-none-match',
  'pragma',
  'te',
  'transfer-encoding',
  'upgrade',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
])
const isList = (name = ''): boolean => LISTS.has(name.toLowerCase())

/** Returns a regular expression. Other matches of rules compare with regard to case, and the header as a whole. */
function patternOf(value: string, match: string, anchors: Anchors): string {
  const [before, after] = entryOf(anchors, match) ?? ['', '']
  return match === 'regex' ? value : `${before}${value.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')}${after}`
}

function fetchOf(fetch: string): { readonly type: string; readonly name?: string; readonly match: string } {
  if (fetch.includes(',')) refuse('converters have no counterpart')
  const known = entryOf(FETCHES, fetch)
  if (known !== undefined) return { type: known[0], match: known[1] }
  const [, base = '', name = ''] = /^([a-z._]+)\(([^(),]+)(?:,1)?\)$/.exec(fetch) ?? []
  const suffix = Object.keys(SUFFIXES).find((one) => base.endsWith(one) && one !== '') ?? ''
  const type =
    entryOf(NAMED, suffix === '' ? base : base.slice(0, -suffix.length)) ??
    refuse(`the fetch ${fetch} has no counterpart`)
  const match = SUFFIXES[suffix] ?? 'is'
  const isHost = type === 'header' && name.toLowerCase() === 'host'
  if (isHost) return { type: 'host', match }
  return { type, name, match }
}

/**
 * Removes ports from hosts, which rules compare without, and lower-cases them, except for regular expressions: \S is
 * not \s.
 */
function tidy({ match, ...condition }: Condition & { readonly match: string }): Condition {
  const isPlainHost = condition.type === 'host' && match !== 'regex'
  const values = isPlainHost
    ? condition.values.map((value) =>
        value
          .replace(/:\d+$/, '')
          .replace(/(?<=.)\.$/, '')
          .toLowerCase(),
      )
    : condition.values
  return { ...condition, values, ...(match === 'is' || match === 'there' ? {} : { match }) }
}

const HOST_FETCH = /^(?:req[._])?hdr(?:_\w+)?\(host(?:,1)?\)$/i

/** Returns whether the line compares the host of a request with a text that has a port. */
const asksForPort = (words: readonly string[]): boolean =>
  words.some((word) => HOST_FETCH.test(word)) && words.some((word) => /^[a-z0-9.-]+:\d+$/i.test(word))

/**
 * Fetches whose values rules compare in another form, and the remarks about that, which apply to the whole document.
 */
const FORMS: readonly (readonly [fetch: RegExp, why: string])[] = [
  [/^path(?:_\w+)?$/, 'rules decode a path before they compare it, as servers do: //%61dmin is /admin'],
  [/^url(?:p|_param)(?:_\w+)?\(/, 'rules decode a parameter before they compare it: %61 is a'],
  [HOST_FETCH, 'rules compare hosts without regard to case, and without the port'],
]

/** Returns remarks on how the resulting rules compare differently: for this line, and for all lines like it. */
export function comparedOtherwise(
  words: readonly string[],
): Readonly<Record<'here' | 'everywhere', readonly string[]>> {
  const whole = words.flatMap((word, at) => {
    const isFetch = words[at - 1] === '{' || (words[0] === 'acl' && at === 2)
    const name = isFetch ? comparedWhole(word, words.slice(at + 1)) : undefined
    return name === undefined ? [] : [`a rule compares ${name} as a whole: HAProxy looks at each value between commas`]
  })
  const port = asksForPort(words) ? ['a host of a rule has no port: requests to any port match'] : []
  return {
    here: [...whole, ...port],
    everywhere: FORMS.flatMap(([form, why]) => (words.some((word) => form.test(word)) ? [why] : [])),
  }
}

/** Returns the header, if it is compared as a whole although HAProxy treats every header as a list. */
function comparedWhole(word: string, behind: readonly string[]): string | undefined {
  const [, suffix = '', name = ''] = /^(?:req[._])?hdr(_beg|_end|_reg)?\(([^(),]+)(?:,1)?\)$/.exec(word) ?? []
  if (name === '' || name.toLowerCase() === 'host') return undefined
  const end = behind.indexOf('}')
  const { match = SUFFIXES[suffix] ?? 'is', values } = flagsOf(end < 0 ? behind : behind.slice(0, end))
  const isAnchored = match === 'regex' && values.some((value) => /^\^|\$$/.test(value))
  return isAnchored || (entryOf(OF_LISTS, match) !== undefined && !isList(name)) ? name : undefined
}

/** Named ACLs: several lines with one name are alternatives; without any, a line was not understood. */
export type Acls = ReadonlyMap<string, readonly Condition[]>

/** ACLs that HAProxy predefines (manual, 7.4). */
const PREDEFINED: Readonly<Record<string, Condition>> = {
  METH_GET: { type: 'method', values: ['GET', 'HEAD'] },
  METH_POST: { type: 'method', values: ['POST'] },
  METH_PUT: { type: 'method', values: ['PUT'] },
  METH_DELETE: { type: 'method', values: ['DELETE'] },
  METH_OPTIONS: { type: 'method', values: ['OPTIONS'] },
  LOCALHOST: { type: 'source', match: 'in', values: ['127.0.0.1/8', '::1'] },
}
const TERMS_MAX = 16

/**
 * Converts the words after `if` or `unless` into alternatives: lists of conditions, one of which must hold as a whole.
 * An empty list, for no words, always holds.
 */
export function alternativesOf(words: readonly string[], acls: Acls): readonly (readonly Condition[])[] {
  const [verb, ...terms] = words
  if (verb === undefined) return [[]]
  if (verb !== 'if' && verb !== 'unless') refuse(`${verb} is not supported there`)
  const conjunctions = splitAt(terms).map((conjunction) => conjunction.map((term) => termOf(term, acls)))
  // Counted before they are built: their number is a product.
  const count = conjunctions.reduce((sum, all) => sum + all.reduce((times, { length }) => times * length, 1), 0)
  if (count > TERMS_MAX) refuse('it has too many alternatives')
  const found = conjunctions.flatMap(product)
  if (verb === 'if') return found
  const [only, ...others] = found
  if (only?.length !== 1 || others.length > 0) return refuse('unless with several conditions has no counterpart')
  return [only.map(negated)]
}

const negated = (condition: Condition): Condition => {
  const { negate = false, ...others } = condition
  return negate ? others : { ...others, negate: true }
}

interface Term {
  readonly isNegated: boolean
  /** The words of an anonymous ACL, or the name of an ACL. */
  readonly acl: readonly string[] | string
}

/** Splits the terms at each `or`. */
function splitAt(words: readonly string[]): readonly (readonly Term[])[] {
  const groups: Term[][] = [[]]
  for (let at = 0; at < words.length; at++) {
    let word = words[at] ?? ''
    if (word === '||' || word.toLowerCase() === 'or') {
      groups.push([])
      continue
    }
    let isNegated = false
    while (word.startsWith('!')) {
      isNegated = !isNegated
      word = word.slice(1)
      if (word === '') word = words[(at += 1)] ?? ''
    }
    if (word !== '{') groups.at(-1)?.push({ isNegated, acl: word })
    else {
      const end = words.indexOf('}', at)
      if (end < 0) refuse('a brace is not closed')
      groups.at(-1)?.push({ isNegated, acl: words.slice(at + 1, end) })
      at = end
    }
  }
  return groups.some((group) => group.length === 0) ? refuse('a condition is missing') : groups
}

/** Returns the alternatives of one term. */
function termOf({ isNegated, acl }: Term, acls: Acls): readonly (readonly Condition[])[] {
  const lines = typeof acl === 'string' ? (acls.get(acl) ?? predefined(acl)) : [conditionOf(acl)]
  if (lines.length === 0) refuse(`the ACL ${String(acl)} is not supported`)
  if (lines.length > TERMS_MAX) refuse('it has too many alternatives')
  // The negation of several alternatives: none of them.
  return isNegated ? [lines.map(negated)] : lines.map((line) => [line])
}

function predefined(name: string): readonly Condition[] {
  const known = entryOf(PREDEFINED, name)
  if (known === undefined) throw new NotUnderstood(`the ACL ${name} is not supported`)
  return [known]
}

/** Returns every choice of one alternative from each term. */
function product(terms: readonly (readonly (readonly Condition[])[])[]): readonly (readonly Condition[])[] {
  return terms.reduce<readonly (readonly Condition[])[]>(
    (all, alternatives) => all.flatMap((one) => alternatives.map((more) => [...one, ...more])),
    [[]],
  )
}
