import { DEFAULT_COOKIE } from '../drivers/haproxy/backend.ts'
import { portRanges } from '../drivers/haproxy/tls.ts'
import { isResting } from '../drivers/resting.ts'
import type { L4Frontend } from '../model/layer4.ts'
import type { L7Frontend } from '../model/layer7.ts'
import { backendsOf } from '../model/l7-rules.ts'
import type { ConfigView } from '../model/sections.ts'
import type { Warning } from '../model/warning.ts'
import { nameRecord } from '../rules/names.ts'
import { about } from './about.ts'

export function rests(section: 'l4Frontends' | 'l7Frontends', frontend: L4Frontend | L7Frontend, view: ConfigView) {
  if (!frontend.enabled || !isResting(frontend, view)) return []
  return [about('FRONTEND_RESTS', section, frontend, `would serve nothing: its floating IP ${frontend.ip} is disabled`)]
}

/** Warns of options that are switched on but can have no effect. */
export function withoutEffect(frontend: L7Frontend): readonly Warning[] {
  const { enabled, mode, httpRedirectToHttps = false, hsts = false, certificates = [] } = frontend
  if (!enabled || mode !== 'http') return []
  const found: Warning[] = []
  if (httpRedirectToHttps && portRanges(frontend).every(({ isTls }) => isTls)) {
    const says = 'has httpRedirectToHttps, but all its ports use TLS: add port 80, which then stays plain HTTP'
    found.push(about('REDIRECT_CANNOT_FIRE', 'l7Frontends', frontend, says))
  }
  if (Number(hsts) > 0 && certificates.length === 0) {
    const says = 'has hsts, which browsers honour over TLS only: give it a certificate'
    found.push(about('HSTS_CANNOT_FIRE', 'l7Frontends', frontend, says))
  }
  return found
}

/** Warns of frontends whose clients can claim any address, although rules, limits and logs rely on it. */
export function believesAnybody(frontend: L7Frontend): readonly Warning[] {
  if (!frontend.enabled || frontend.proxyProtocol !== true) return []
  const says = 'accepts client addresses by PROXY protocol from anybody: list the proxies in proxyProtocol instead'
  return [about('PROXY_FROM_ANYBODY', 'l7Frontends', frontend, says)]
}

/** Warns of persistence cookies sent over plain HTTP: they are Secure only where they are sent over TLS. */
export function plainCookies(frontend: L7Frontend, view: ConfigView): readonly Warning[] {
  const { enabled, mode, httpRedirectToHttps = false } = frontend
  const sendsPlain =
    enabled && mode === 'http' && !httpRedirectToHttps && portRanges(frontend).some(({ isTls }) => !isTls)
  const backends = sendsPlain ? backendsOf(frontend).map((id) => view.get('l7Backends', id)) : []
  const backend = backends.find((one) => one?.enabled === true && one.persistence.type === 'cookie')
  if (backend === undefined) return []
  const { cookieName = DEFAULT_COOKIE } = backend.persistence
  const says = `sends the cookie ${cookieName} of the ${nameRecord('l7Backends', backend)} without Secure, because it does not use TLS: give it a certificate, or redirect its clients to https`
  return [about('COOKIE_NOT_SECURE', 'l7Frontends', frontend, says)]
}
