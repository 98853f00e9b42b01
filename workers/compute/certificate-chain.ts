import { X509Certificate } from 'node:crypto'
import { rootCertificates } from 'node:tls'

/** A certificate, and the field of the request that held it. */
export interface Found {
  readonly certificate: X509Certificate
  readonly field: string
}

export interface Chain {
  /** The certificate itself, then the issuer of each link before. */
  readonly links: readonly Found[]
  /** Certificates that are unrelated to the chain. */
  readonly strangers: readonly Found[]
  /** Whether clients can build a path from the last link to a root. */
  readonly isComplete: boolean
}

/** Whether `issuer` is the named issuer and its key has really signed the certificate. */
export function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
  } catch {
    return false
  }
}

export const isSelfSigned = (certificate: X509Certificate): boolean => isIssuedBy(certificate, certificate)

export function chainOf(leaf: Found, others: readonly Found[]): Chain {
  const links = [leaf]
  const left = new Set(others)
  const tops = new Set([...others, leaf].filter(({ certificate }) => isSelfSigned(certificate)))
  for (let last = leaf; !tops.has(last);) {
    const current = last.certificate
    const issuers = [...left].filter(
      (issuer) => (issuer.certificate.ca || tops.has(issuer)) && isIssuedBy(current, issuer.certificate),
    )
    // A root that an older root has cross-signed comes in two forms: the longer path serves more clients.
    const next = issuers.find((issuer) => !tops.has(issuer)) ?? issuers[0]
    if (next === undefined) break
    links.push(next)
    left.delete(next)
    last = next
  }
  // Any other certificate that could have issued a link is another form of one in the chain. A self-signed link has no
  // other issuer.
  const issued = links.filter((link) => !tops.has(link))
  const strangers = [...left].filter(
    ({ certificate: other }) => !issued.some(({ certificate }) => isIssuedBy(certificate, other)),
  )
  const last = links.at(-1) ?? leaf
  return { links, strangers, isComplete: tops.has(last) || isOfKnownRoot(last.certificate) }
}

let roots: ReadonlyMap<string, readonly string[]> | undefined

/** Whether one of the roots that Node ships has signed the certificate. */
function isOfKnownRoot(certificate: X509Certificate): boolean {
  roots ??= bySubject(rootCertificates)
  return (roots.get(certificate.issuer) ?? []).some((pem) => isIssuedBy(certificate, new X509Certificate(pem)))
}

function bySubject(pems: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  for (const pem of pems) {
    const { subject } = new X509Certificate(pem)
    found.set(subject, [...(found.get(subject) ?? []), pem])
  }
  return found
}
