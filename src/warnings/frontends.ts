import { DEFAULT_COOKIE } from '../drivers/haproxy/backend.ts'
import { portRanges } from '../drivers/haproxy/tls.ts'
import { isResting } from '../drivers/resting.ts'
import type { L4Frontend } from '../model/layer4.ts'
import type { L7Frontend } from '../model/layer7.ts'
import { backendsOf, type Condition, conditionsOf, type Rule } from '../model/l7-rules.ts'
import type { ConfigView } from '../model/sections.ts'
import type { Warning } from '../model/warning.ts'
import { takesAll } from '../rules/l7-rules.ts'
import { nameRecord } from '../rules/names.ts'
import { about } from './about.ts'

export function rests(section: 'l4Frontends' | 'l7Frontends', frontend: L4Frontend | L7Frontend, view: ConfigView) {
  if (!frontend.enabled || !isResting(frontend, view)) return []
  return [about('FRONTEND_RESTS', section, frontend, `would serve nobody: its floating IP ${frontend.ip} is disabled`)]
}

/** What was switched on and can have no effect. */
export function withoutEffect(frontend: L7Frontend): readonly Warning[] {
  const { enabled, mode, httpRedirectToHttps = false, hsts = false, certificates = [] } = frontend
  if (!enabled || mode !== 'http') return []
  const found: Warning[] = []
  if (httpRedirectToHttps && portRanges(frontend).every(({ isTls }) => isTls)) {
    const says = 'has httpRedirectToHttps, but every port of it speaks TLS: add port 80, which then stays plain'
    found.push(about('REDIRECT_CANNOT_FIRE', 'l7Frontends', frontend, says))
  }
  if (Number(hsts) > 0 && certificates.length === 0) {
    const says = 'has hsts, which browsers heed over TLS only: give it a certificate'
    found.push(about('HSTS_CANNOT_FIRE', 'l7Frontends', frontend, says))
  }
  return found
}

/** Rules behind one that takes every request, and redirects that lead to themselves. */
export function rulesWithoutEffect(frontend: L7Frontend): readonly Warning[] {
  const { enabled, rules = [] } = frontend
  if (!enabled) return []
  const found: Warning[] = []
  const last = rules.findIndex(takesAll)
  const title = (at: number) => `rule ${at + 1}${rules[at]?.name === undefined ? '' : ` (${rules[at].name})`}`
  if (last >= 0 && last < rules.length - 1) {
    const says = `has rules that never hold: ${title(last)} takes every request, so ${title(last + 1)} and what follows comes too late`
    found.push(about('RULE_CANNOT_HOLD', 'l7Frontends', frontend, says))
  }
  for (const [at, rule] of rules.entries()) {
    if (!redirectsToItself(rule)) continue
    const says = `has a redirect onto itself: ${title(at)} also holds for ${rule.do.to}, and browsers give up`
    found.push(about('REDIRECT_LOOP', 'l7Frontends', frontend, says))
  }
  return found
}

/** To a path that its own condition holds for. */
function redirectsToItself(rule: Rule): boolean {
  const { type, to = '' } = rule.do
  if (type !== 'redirect' || !to.startsWith('/') || to.includes('{')) return false
  const [path = ''] = to.split(/[?#]/)
  return conditionsOf(rule).every((condition) => holdsForPath(condition, path))
}

function holdsForPath({ type, match = 'is', values, negate = false }: Condition, path: string): boolean {
  if (type !== 'path' || negate) return false
  return match === 'is' ? values.includes(path) : match === 'begins' && values.some((value) => path.startsWith(value))
}

/** Whoever reaches such a frontend names the address that rules, limits and logs go by. */
export function believesAnybody(frontend: L7Frontend): readonly Warning[] {
  if (!frontend.enabled || frontend.proxyProtocol !== true) return []
  const says = 'believes everybody who tells it a client by PROXY protocol: name the proxies in proxyProtocol instead'
  return [about('PROXY_FROM_ANYBODY', 'l7Frontends', frontend, says)]
}

/** A persistence cookie is Secure wherever it goes over TLS. */
export function plainCookies(frontend: L7Frontend, view: ConfigView): readonly Warning[] {
  const { enabled, mode, httpRedirectToHttps = false } = frontend
  const sendsPlain =
    enabled && mode === 'http' && !httpRedirectToHttps && portRanges(frontend).some(({ isTls }) => !isTls)
  const backends = sendsPlain ? backendsOf(frontend).map((id) => view.get('l7Backends', id)) : []
  const backend = backends.find((one) => one?.enabled === true && one.persistence.type === 'cookie')
  if (backend === undefined) return []
  const { cookieName = DEFAULT_COOKIE } = backend.persistence
  const says = `sends the cookie ${cookieName} of the ${nameRecord('l7Backends', backend)} without Secure, because it speaks no TLS: give it a certificate, or send its clients to https`
  return [about('COOKIE_NOT_SECURE', 'l7Frontends', frontend, says)]
}
