import { X509Certificate } from 'node:crypto'
import type { L7Frontend } from '../model/layer7.ts'
import type { Warning } from '../model/warning.ts'
import { about } from './about.ts'

const EXPIRES_MS = 30 * 86_400_000
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Cached, because records do not change and parsing certificates takes time. */
const known = new WeakMap<L7Frontend, readonly X509Certificate[]>()

/** Warns of authorities because of which HAProxy would refuse all of their clients. */
export function clientAuthorities(frontend: L7Frontend, now_ms: number): readonly Warning[] {
  const { enabled, clientVerify = 'none' } = frontend
  if (!enabled || clientVerify === 'none') return []
  const all = authoritiesOf(frontend)
  const isCut = (one: X509Certificate) => !all.some((issuer) => isIssuedBy(one, issuer))
  const cut = all.find((one) => isCut(one) && !all.some((other) => isSame(other, one) && !isCut(other)))
  const [first] = all
    .filter(
      (one) =>
        endOf(one) - now_ms < EXPIRES_MS && !all.some((other) => isSame(other, one) && endOf(other) > endOf(one)),
    )
    .toSorted((a, b) => endOf(a) - endOf(b))
  const found: Warning[] = []
  if (cut !== undefined) {
    const says = `refuses all clients of ${nameOf(cut.subject)} in clientCa: add its issuer ${nameOf(cut.issuer)}, and so on up to the root`
    found.push(about('CLIENT_CA_INCOMPLETE', 'l7Frontends', frontend, says))
  }
  if (first !== undefined) {
    const end = `${endOf(first) < now_ms ? 'has expired' : 'expires'} at ${new Date(endOf(first)).toISOString()}`
    const says = `verifies clients by ${nameOf(first.subject)} in clientCa, which ${end}: replace it`
    found.push(about('CERTIFICATE_EXPIRES', 'l7Frontends', frontend, says))
  }
  return found
}

/** Returns the readable ones: rules report the others. */
function authoritiesOf(frontend: L7Frontend): readonly X509Certificate[] {
  const before = known.get(frontend)
  if (before !== undefined) return before
  const found = (frontend.clientCa ?? '').match(PEM)?.flatMap((pem) => certificateIn(pem) ?? []) ?? []
  known.set(frontend, found)
  return found
}

function certificateIn(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}

function isIssuedBy(one: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return one.checkIssued(issuer) && one.verify(issuer.publicKey)
  } catch {
    return false
  }
}

/** Whether both are certificates of one authority, which may be renewed or cross-signed. */
const isSame = (other: X509Certificate, one: X509Certificate): boolean =>
  other.subject === one.subject && other.publicKey.equals(one.publicKey)

const endOf = ({ validTo }: X509Certificate): number => Date.parse(validTo)

/** Returns the name by which people know an authority. */
const nameOf = (subject: string): string =>
  subject.split('\n').find((line) => line.startsWith('CN=')) ?? subject.replaceAll('\n', ', ')
