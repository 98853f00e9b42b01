import { createHash, X509Certificate } from 'node:crypto'

/** The contents of a cluster's certificates. Reading them needs only Node; they are made in `authority.ts`. */

const URI = 'URI:'
const NODE_URN = 'urn:fulcrum:node:'
const DAY_MS = 86_400_000
const RENEWED_BEFORE_MS = 30 * DAY_MS
/** Ids of clusters and nodes in the names of certificates: without characters that have a meaning there. */
const ID = /^[A-Za-z0-9-]{1,64}$/

export const isCertificateId = (text: string): boolean => ID.test(text)

/** The name of a node in its certificate (RFC 5280, section 4.2.1.6, uniformResourceIdentifier). */
export const nodeUri = (nodeId: string): string => `${NODE_URN}${nodeId}`

/** A text that is refused as a certificate. The message names the reason, and contains nothing of the text. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError'
}

export interface NodeCertificate {
  readonly nodeId: string
  /** In hexadecimal digits, as in revocation lists. */
  readonly serial: string
  readonly notBefore_ms: number
  readonly notAfter_ms: number
  readonly pin: string
  /** SubjectPublicKeyInfo in base64: the key for encrypting to the node. */
  readonly spki: string
}

/**
 * Reads the certificate of a node. Its contents can be trusted only if its issuer was verified.
 *
 * @param certificate in PEM or DER.
 * @throws {CertificateError} when it is no certificate, or one that names no node or several.
 */
export function readNodeCertificate(certificate: string | Uint8Array | X509Certificate): NodeCertificate {
  const parsed = parsedCertificate(certificate)
  return {
    nodeId: nodeIdOf(parsed),
    serial: parsed.serialNumber,
    notBefore_ms: Date.parse(parsed.validFrom),
    notAfter_ms: Date.parse(parsed.validTo),
    pin: pinOf(parsed),
    spki: parsed.publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
  }
}

/**
 * Returns the SHA-256 of the SubjectPublicKeyInfo, in base64url without padding: 43 characters (RFC 7469, section 2.4,
 * except for the alphabet, which needs no quoting in addresses and shells). It stays the same when a certificate is
 * renewed with its key.
 *
 * @throws {CertificateError} when it is no certificate.
 */
export function pinOf(certificate: string | Uint8Array | X509Certificate): string {
  return pinOfKey(parsedCertificate(certificate).publicKey.export({ type: 'spki', format: 'der' }))
}

/** The pin of a SubjectPublicKeyInfo in DER. */
export const pinOfKey = (spki: Uint8Array): string => createHash('sha256').update(spki).digest('base64url')

/** Whether a certificate is due for renewal: from 30 days before its end. */
export const isDue = ({ notAfter_ms }: Pick<NodeCertificate, 'notAfter_ms'>, now_ms: number): boolean =>
  now_ms >= notAfter_ms - RENEWED_BEFORE_MS

/**
 * Returns the authority with this pin from a server's certificate chain, when it has issued the server's own
 * certificate and both are valid now; undefined otherwise. It replaces the usual verification as long as a joining node
 * knows nothing of the cluster but the pin in its token.
 *
 * @param shown the result of `getPeerX509Certificate`, whose issuers lead to the authority if the server sent it.
 */
export function pinnedAuthority(shown: X509Certificate, pin: string, now_ms: number): X509Certificate | undefined {
  const authority = shown.issuerCertificate
  if (authority === undefined || !authority.ca || pinOf(authority) !== pin) return undefined
  if (!shown.checkIssued(authority) || !shown.verify(authority.publicKey)) return undefined
  return [shown, authority].every((one) => isValidAt(one, now_ms)) ? authority : undefined
}

const isValidAt = ({ validFrom, validTo }: X509Certificate, now_ms: number) =>
  Date.parse(validFrom) <= now_ms && now_ms <= Date.parse(validTo)

function parsedCertificate(certificate: string | Uint8Array | X509Certificate): X509Certificate {
  if (certificate instanceof X509Certificate) return certificate
  try {
    return new X509Certificate(certificate)
  } catch {
    throw new CertificateError('This is not a certificate in PEM or DER')
  }
}

function nodeIdOf({ subjectAltName = '' }: X509Certificate): string {
  // Node quotes names that could be read as several. Fulcrum's certificates have no such name.
  const names = subjectAltName.includes('"') ? [] : subjectAltName.split(', ')
  const nodes = names.filter((name) => name.startsWith(`${URI}${NODE_URN}`))
  const nodeId = nodes[0]?.slice(URI.length + NODE_URN.length) ?? ''
  if (nodes.length === 1 && isCertificateId(nodeId)) return nodeId
  throw new CertificateError('The certificate does not name one node of a cluster')
}
