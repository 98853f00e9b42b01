import { X509Certificate } from 'node:crypto'
import type { Certificate } from '../model/certificates.ts'

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
/** Records do not change, and reading their chains takes its time. */
const ends = new WeakMap<Certificate, Date>()

/** When clients begin to refuse it: its own end, or that of an issuer which is sent with it and ends before. */
export function endOf(certificate: Certificate): Date {
  const known = ends.get(certificate)
  if (known !== undefined) return known
  const [, ...issuers] = certificate.chain.match(PEM) ?? []
  const end = new Date(Math.min(Date.parse(certificate.facts.validTo), ...issuers.map(endOfIssuer)))
  ends.set(certificate, end)
  return end
}

/**
 * Clients have roots of their own, and do not look at the end of one that is sent. What cannot be read is no reason to
 * be silent.
 */
function endOfIssuer(pem: string): number {
  try {
    const { subject, issuer, validTo } = new X509Certificate(pem)
    return subject === issuer ? Number.POSITIVE_INFINITY : Date.parse(validTo)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
