import type { HealthCheckSetting } from '../model/health-check.ts'
import type { L4Backend } from '../model/layer4.ts'
import { DEFAULT_MIN_TLS, type L7Backend, type L7Frontend } from '../model/layer7.ts'
import { conditionsOf, type Rule } from '../model/l7-rules.ts'
import type { Warning } from '../model/warning.ts'
import { about } from './about.ts'

/** A field that is set, and what it would need to have an effect. */
type Idle = readonly [field: string, needs: string]

/** Returns the fields that are set; null and an empty list are not. */
const idle = (needs: string, fields: Readonly<Record<string, unknown>>): readonly Idle[] =>
  Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0))
    .map(([field]) => [field, needs])

function warned(
  section: 'l7Frontends' | 'l7Backends' | 'l4Backends',
  record: L7Frontend | L7Backend | L4Backend,
  found: readonly Idle[],
): readonly Warning[] {
  if (found.length === 0) return []
  const list = found.map(([field, needs]) => `${field} needs ${needs}`).join(', ')
  return [about('FIELD_WITHOUT_EFFECT', section, record, `has fields without effect: ${list}`)]
}

/** A check of type none is a decision, whatever is kept beside it. */
function idleOfCheck({ type, path, host, expect }: HealthCheckSetting): readonly Idle[] {
  if (type !== 'tcp' && type !== 'script') return []
  const needs = type === 'tcp' ? 'type http or https' : 'type http or https; a script has parameters'
  return idle(needs, { 'healthCheck.path': path, 'healthCheck.host': host, 'healthCheck.expect': expect })
}

function idleOfPersistence({ type, cookieName, timeout }: L7Backend['persistence']): readonly Idle[] {
  return [
    ...(type === 'cookie' ? [] : idle('type cookie', { 'persistence.cookieName': cookieName })),
    ...(type === 'ip' ? [] : idle('type ip', { 'persistence.timeout': timeout })),
  ]
}

/** Warns of fields of a frontend that its other fields leave without effect. */
export function idleOfFrontend(frontend: L7Frontend): readonly Warning[] {
  const { enabled, mode, certificates = [], cipherListId, minTls = DEFAULT_MIN_TLS, alpn, rules = [] } = frontend
  if (!enabled) return []
  const hasTls = certificates.length > 0
  const chosenTls = minTls === DEFAULT_MIN_TLS ? undefined : minTls
  return warned('l7Frontends', frontend, [
    ...(hasTls ? [] : idle('certificates', { cipherListId, minTls: chosenTls, alpn })),
    ...rules.flatMap((rule, at) => idleOfRule(rule, at, mode === 'http' && !hasTls)),
  ])
}

function idleOfRule(rule: Rule, at: number, isPlain: boolean): readonly Idle[] {
  const { type, contentType, body = '' } = rule.do
  const key = rule.when?.all === undefined ? 'any' : 'all'
  return [
    ...(type === 'respond' && body === '' ? idle('a body', { [`rules.${at}.do.contentType`]: contentType }) : []),
    ...conditionsOf(rule).flatMap((condition, index) =>
      isPlain && condition.type === 'sni' ? idle('certificates', { [`rules.${at}.when.${key}.${index}`]: 'sni' }) : [],
    ),
  ]
}

/** Does the same for a backend. */
export function idleOfBackend(
  section: 'l7Backends' | 'l4Backends',
  backend: L7Backend | L4Backend,
): readonly Warning[] {
  if ('enabled' in backend && !backend.enabled) return []
  return warned(section, backend, [
    ...('persistence' in backend ? idleOfPersistence(backend.persistence) : []),
    ...idleOfCheck(backend.healthCheck),
  ])
}
