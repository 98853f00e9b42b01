import type { X509Certificate } from 'node:crypto'
import type { L7Frontend } from '../model/layer7.ts'
import type { Warning } from '../model/warning.ts'
import { clientAuthoritiesOf, isSameAuthority, nameOf, neededAuthoritiesOf } from '../rules/client-authorities.ts'
import { about } from './about.ts'

const EXPIRES_MS = 30 * 86_400_000

/** Warns of authorities because of which HAProxy would refuse all of their clients. */
export function clientAuthorities(frontend: L7Frontend, now_ms: number): readonly Warning[] {
  const all = clientAuthoritiesOf(frontend)
  const isCut = (one: X509Certificate) => !all.some((issuer) => isIssuedBy(one, issuer))
  const cut = all.find((one) => isCut(one) && !all.some((other) => isSameAuthority(other, one) && !isCut(other)))
  const [first] = neededAuthoritiesOf(frontend).toSorted((a, b) => endOf(a) - endOf(b))
  const found: Warning[] = []
  if (cut !== undefined) {
    const says = `refuses all clients of ${nameOf(cut.subject)} in clientCa: add its issuer ${nameOf(cut.issuer)}, and so on up to the root`
    found.push(about('CLIENT_CA_INCOMPLETE', 'l7Frontends', frontend, says))
  }
  if (first !== undefined && endOf(first) - now_ms < EXPIRES_MS) {
    const end = `${endOf(first) < now_ms ? 'has expired' : 'expires'} at ${new Date(endOf(first)).toISOString()}`
    const says = `verifies clients by ${nameOf(first.subject)} in clientCa, which ${end}: replace it`
    found.push(about('CERTIFICATE_EXPIRES', 'l7Frontends', frontend, says))
  }
  return found
}

function isIssuedBy(one: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return one.checkIssued(issuer) && one.verify(issuer.publicKey)
  } catch {
    return false
  }
}

const endOf = ({ validTo }: X509Certificate): number => Date.parse(validTo)
