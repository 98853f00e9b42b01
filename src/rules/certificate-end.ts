import { X509Certificate } from 'node:crypto'
import { PEM_CERTIFICATES } from '../base/certificate-summary.ts'
import type { Certificate } from '../model/certificates.ts'

/** Cached, because records do not change and parsing their chains takes time. */
const ends = new WeakMap<Certificate, Date>()

/**
 * Returns when clients begin to refuse the certificate: at its own end, or at that of an issuer which is sent with it
 * and ends earlier.
 */
export function endOf(certificate: Certificate): Date {
  const known = ends.get(certificate)
  if (known !== undefined) return known
  const [, ...issuers] = certificate.chain.match(PEM_CERTIFICATES) ?? []
  const end = new Date(Math.min(Date.parse(certificate.facts.validTo), ...issuers.map(endOfIssuer)))
  ends.set(certificate, end)
  return end
}

/**
 * Ignores roots: clients have their own, and do not check the end of one that is sent. An unreadable certificate must
 * not suppress the report.
 */
function endOfIssuer(pem: string): number {
  try {
    const { subject, issuer, validTo } = new X509Certificate(pem)
    return subject === issuer ? Number.POSITIVE_INFINITY : Date.parse(validTo)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
