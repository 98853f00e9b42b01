import { X509Certificate } from 'node:crypto'
import { rootCertificates } from 'node:tls'

/** A certificate and the field of the request that it came in. */
export interface Found {
  readonly certificate: X509Certificate
  readonly field: string
}

export interface Chain {
  /** The certificate itself, then each one that issued the one before it. */
  readonly links: readonly Found[]
  /** Certificates that have nothing to do with the chain. */
  readonly strangers: readonly Found[]
  /** Whether clients find the way from its end to a root. */
  readonly isComplete: boolean
}

/** Issued and really signed by it. */
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
    // A root that was also signed by an older one comes in two forms: the longer way serves more clients.
    const next = issuers.find((issuer) => !tops.has(issuer)) ?? issuers[0]
    if (next === undefined) break
    links.push(next)
    left.delete(next)
    last = next
  }
  // What else could have issued a link is another form of one that is there. Nobody issues what signs itself.
  const issued = links.filter((link) => !tops.has(link))
  const strangers = [...left].filter(
    ({ certificate: other }) => !issued.some(({ certificate }) => isIssuedBy(certificate, other)),
  )
  const last = links.at(-1) ?? leaf
  return { links, strangers, isComplete: tops.has(last) || isOfKnownRoot(last.certificate) }
}

let roots: ReadonlyMap<string, readonly string[]> | undefined

/** Whether one of the roots that programs bring along has signed it. */
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
