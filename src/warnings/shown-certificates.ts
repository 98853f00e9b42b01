import type { Certificate } from '../model/certificates.ts'
import type { L7Frontend } from '../model/layer7.ts'
import type { Condition, Rule } from '../model/l7-rules.ts'
import type { ConfigView } from '../model/sections.ts'
import type { Warning } from '../model/warning.ts'
import { endsList } from '../rules/l7-rules.ts'
import { nameRecord } from '../rules/names.ts'
import { about } from './about.ts'

/** Warns of certificates that a frontend never presents, and of those for whose names it takes no requests. */
export function unreachedCertificates(frontend: L7Frontend, view: ConfigView): readonly Warning[] {
  const { enabled, certificates: ids = [] } = frontend
  if (!enabled) return []
  const shown = ids.flatMap((id) => view.get('certificates', id) ?? [])
  return shown.flatMap((certificate, at) => {
    const why = whyHidden(certificate, shown.slice(0, at)) ?? whyUseless(certificate, frontend)
    if (why === undefined) return []
    const says = `never uses the ${nameRecord('certificates', certificate)}: ${why}`
    return [about('CERTIFICATE_UNREACHED', 'l7Frontends', frontend, says)]
  })
}

const namesOf = ({ facts }: Certificate): readonly string[] =>
  (facts.subjectAlt.length > 0 ? facts.subjectAlt : [facts.commonName]).map((name) => name.toLowerCase())

/** If two certificates fit a name, HAProxy presents the first, unless their keys are of different kinds. */
function whyHidden(certificate: Certificate, before: readonly Certificate[]): string | undefined {
  const kind = ({ facts }: Certificate) => facts.keyType.split(' ', 1)[0]
  const names = namesOf(certificate)
  const other = before.find((one) => {
    const taken = new Set(namesOf(one))
    return kind(one) === kind(certificate) && names.every((name) => taken.has(name))
  })
  return other === undefined ? undefined : `the ${nameRecord('certificates', other)} before it covers all of its names`
}

/** Without a default backend, a certificate is useless if no rule takes requests for its names. */
function whyUseless(certificate: Certificate, { defaultBackendId, rules = [] }: L7Frontend): string | undefined {
  if (defaultBackendId !== null || rules.length === 0) return undefined
  const names = namesOf(certificate)
  if (rules.some((rule) => endsList(rule) && names.some((name) => mayTake(rule, name)))) return undefined
  const [first = '', ...more] = names
  const told = more.length === 0 ? first : `${first} and ${more.length} more`
  return `no rule accepts requests for ${told}, and there is no default backend`
}

function mayTake({ when }: Rule, name: string): boolean {
  const may = (condition: Condition) => mayFit(condition, name)
  return when?.all === undefined ? when?.any?.some(may) !== false : when.all.every(may)
}

/** Returns whether a request for this name, or for a host of this wildcard name, could match; in doubt, it could. */
function mayFit({ type, match = 'is', values, negate = false }: Condition, name: string): boolean {
  if ((type !== 'host' && type !== 'sni') || negate) return true
  const domain = name.startsWith('*.') ? name.slice(1) : undefined
  return values.some((value) => {
    const wanted = value.toLowerCase()
    if (domain === undefined) return match === 'is' ? wanted === name : match !== 'ends' || name.endsWith(wanted)
    if (match === 'is') return wanted.endsWith(domain)
    return match !== 'ends' || wanted.endsWith(domain) || domain.endsWith(wanted)
  })
}
