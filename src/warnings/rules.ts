import { portRanges } from '../drivers/haproxy/tls.ts'
import type { L7Frontend } from '../model/layer7.ts'
import { type ActionType, type Condition, conditionsOf, isCaseless, type Rule } from '../model/l7-rules.ts'
import type { Warning } from '../model/warning.ts'
import { endsList } from '../rules/l7-rules.ts'
import { about } from './about.ts'
import { Takers } from './coverage.ts'

/** Warns of rules whose requests an earlier rule takes, and of redirects that lead to themselves. */
export function rulesWithoutEffect(frontend: L7Frontend): readonly Warning[] {
  const { enabled, rules = [] } = frontend
  if (!enabled) return []
  const found: Warning[] = []
  const title = (at: number) => `rule ${at + 1}${rules[at]?.name === undefined ? '' : ` (${rules[at].name})`}`
  const late = tooLate(rules)
  if (late !== undefined) {
    const { at, taker, isAll } = late
    const takes = isAll
      ? `${title(taker)} handles every request, so ${title(at)} and later ones never apply`
      : `${title(taker)} already handles every request that ${title(at)} could apply to`
    found.push(about('RULE_CANNOT_HOLD', 'l7Frontends', frontend, `has rules that never apply: ${takes}`))
  }
  for (const [at, rule] of rules.entries()) {
    if (!redirectsToItself(rule, frontend)) continue
    const says = `has a redirect loop: ${title(at)} also applies to ${rule.do.to}, so browsers give up`
    found.push(about('REDIRECT_LOOP', 'l7Frontends', frontend, says))
  }
  return found
}

/** Actions that change properties which later rules look at. */
const CHANGES: ReadonlySet<ActionType> = new Set(['rewritePath', 'setHeader', 'addHeader', 'removeHeader'])

/** Returns the first rule for which an earlier rule leaves no requests. */
function tooLate(rules: readonly Rule[]) {
  /** Rules that end the evaluation, added since the request was last changed. */
  let takers = new Takers()
  for (const [at, rule] of rules.entries()) {
    const taker = takers.first(rule)
    if (taker !== undefined) return { at, taker, isAll: rules[taker]?.when === undefined }
    if (CHANGES.has(rule.do.type)) takers = new Takers()
    if (endsList(rule)) takers.add(at, rule)
  }
  return undefined
}

/** Destination of a redirect; an absent host or path is that of the request. */
interface Target {
  readonly host?: string
  readonly path?: string
}

/** Returns whether the redirect leads to this frontend, where the rule's own conditions hold again. */
function redirectsToItself(rule: Rule, frontend: L7Frontend): boolean {
  const { type, to = '' } = rule.do
  const target = type === 'redirect' ? targetOf(to, frontend) : undefined
  if (target === undefined) return false
  const conditions = conditionsOf(rule)
  // Another name may belong to another machine, unless the rule has a condition on the host.
  const isHere = target.host === undefined || conditions.some((condition) => condition.type === 'host')
  return isHere && conditions.every((condition) => holdsAgain(condition, target))
}

/** Returns undefined if the target is uncertain, or is not this frontend. */
function targetOf(to: string, frontend: L7Frontend): Target | undefined {
  const [, scheme, authority = '', path = ''] = /^(?:(https?):\/\/([^/?#{}]+|\{host\}))?([^?#]*)/.exec(to) ?? []
  const place = placeOf(scheme === undefined ? path : path || '/')
  if (place === undefined || scheme === undefined) return place
  const isTls = scheme === 'https'
  const [name = '', port = isTls ? '443' : '80'] = authority.split(':')
  const isSame = authority === '{host}'
  // `{host}` includes the port that the client used.
  const isServed = portRanges(frontend).some(
    (range) => range.isTls === isTls && (isSame || (range.first <= Number(port) && Number(port) <= range.last)),
  )
  if (!isServed) return undefined
  return isSame ? place : { ...place, host: name.toLowerCase() }
}

function placeOf(path: string): Target | undefined {
  if (path === '{path}') return {}
  return !path.startsWith('/') || path.startsWith('//') || path.includes('{') ? undefined : { path }
}

function holdsAgain(condition: Condition, { host, path }: Target): boolean {
  if (condition.type === 'source') return true
  if (condition.type === 'path') return path === undefined || fits(condition, path)
  return condition.type === 'host' && (host === undefined || fits(condition, host))
}

function fits({ type, match = 'is', values, negate = false }: Condition, text: string): boolean {
  if (negate) return false
  return values.some((value) => {
    const wanted = isCaseless(type) ? value.toLowerCase() : value
    if (match === 'begins') return text.startsWith(wanted)
    if (match === 'ends') return text.endsWith(wanted)
    return match === 'contains' ? text.includes(wanted) : match === 'is' && text === wanted
  })
}
