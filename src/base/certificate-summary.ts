import { X509Certificate } from 'node:crypto'

/** The fields by which people tell certificates apart. */
export interface CertificateSummary {
  readonly subject: string
  /** ISO 8601. */
  readonly validTo: string
  /** Hexadecimal with colons. */
  readonly sha256: string
}

/** The certificates of a PEM text, for `match`. */
export const PEM_CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Summarises the certificates of a PEM text, in order. */
export const certificateSummaries = (pem: string): readonly CertificateSummary[] =>
  (pem.match(PEM_CERTIFICATES) ?? []).map(summary)

function summary(pem: string): CertificateSummary {
  try {
    const { subject, validTo, fingerprint256 } = new X509Certificate(pem)
    return {
      // Node returns one attribute per line.
      subject: subject.replaceAll('\n', ', '),
      validTo: new Date(validTo).toISOString(),
      sha256: fingerprint256,
    }
  } catch {
    return { subject: 'a certificate that cannot be read', validTo: '', sha256: '' }
  }
}
