import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import type { CertificateRead, CertificateUpload } from '../../src/model/certificates.ts'
import { chainOf, type Chain, type Found, isSelfSigned } from './certificate-chain.ts'
import { UPLOAD_BYTES_MAX, uploadBytes, UploadParts } from './certificate-parts.ts'
import { brokenSignature, factsOf, whyWeak } from './certificate-rules.ts'

const KEY_BYTES_MAX = 65_536
const CHALLENGE = Buffer.from('this key belongs to this certificate')

/** Reads, checks and orders an upload. The result is a value for any input. */
export function readCertificate(sent: CertificateUpload): CertificateRead {
  const { upload, password } = sent
  const main = upload.form === 'parts' ? 'cert' : upload.form
  if (uploadBytes(upload) > UPLOAD_BYTES_MAX) {
    const message = `is larger than ${UPLOAD_BYTES_MAX / 1024} KiB`
    return { problems: [{ field: main, code: 'PAYLOAD_TOO_LARGE', message }] }
  }
  try {
    return judged(new UploadParts(upload, password), sent, main)
  } catch {
    // A defect of a library is no defect of this daemon, and its message could quote the key.
    return { problems: [{ field: main, code: 'INVALID_BODY', message: 'cannot be read' }] }
  }
}

function judged(parts: UploadParts, sent: CertificateUpload, main: string): CertificateRead {
  const { problems, certificates, keys } = parts
  const keyField = sent.upload.form === 'parts' ? 'privateKey' : main
  const [held, ...more] = keys
  if (problems.length === 0) {
    if (certificates.length === 0) parts.problem(main, 'contains no certificate')
    if (held === undefined) parts.problem(keyField, 'contains no private key')
    if (more.length > 0) parts.problem(keyField, `contains ${keys.length} private keys; exactly one is required`)
  }
  if (held === undefined || problems.length > 0) return { problems }
  const leaf = leafOf(held.key, certificates)
  if (leaf === undefined) {
    parts.problem(keyField, 'does not match any of the sent certificates', 'KEY_MISMATCH')
    return { problems }
  }
  const chain = chainOf(
    leaf,
    certificates.filter((found) => found !== leaf),
  )
  refuseChain(parts, chain, sent)
  const facts = factsOf(leaf.certificate)
  const privateKey = String(held.key.export({ format: 'pem', type: 'pkcs8' }))
  if (facts === undefined) parts.problem(leaf.field, 'has dates that cannot be read')
  if (privateKey.length > KEY_BYTES_MAX) parts.problem(keyField, 'is too large for a key')
  if (facts === undefined || problems.length > 0) return { problems }
  const text = chain.links.map(({ certificate }) => certificate.toString()).join('')
  return { certificate: { chain: text, privateKey, facts }, warnings: warningsOf(chain, sent.now_ms) }
}

/** Returns the certificate of the key; if there are several, the one that is valid longest. */
function leafOf(key: KeyObject, certificates: readonly Found[]): Found | undefined {
  return certificates
    .filter(({ certificate }) => isKeyOf(key, certificate.publicKey))
    .toSorted((a, b) => Date.parse(b.certificate.validTo) - Date.parse(a.certificate.validTo))[0]
}

/**
 * The public part in a key file may be wrong, so the test is whether the certificate verifies a signature of the key.
 */
function isKeyOf(key: KeyObject, publicKey: KeyObject): boolean {
  const spki = (of: KeyObject) => of.export({ format: 'der', type: 'spki' })
  if (!spki(createPublicKey(key)).equals(spki(publicKey))) return false
  const digest = key.asymmetricKeyType?.startsWith('ed') === true ? undefined : 'sha256'
  try {
    return verify(digest, CHALLENGE, publicKey, sign(digest, CHALLENGE, key))
  } catch {
    return false
  }
}

function refuseChain(parts: UploadParts, { links, strangers }: Chain, { force, now_ms }: CertificateUpload): void {
  for (const { certificate, field } of strangers) {
    parts.problem(field, `contains a certificate that is not part of the chain: ${nameOf(certificate.subject)}`)
  }
  for (const [index, { certificate, field }] of links.entries()) {
    const title = index === 0 ? 'its certificate' : `the issuer ${nameOf(certificate.subject)}`
    const isRoot = index > 0 && isSelfSigned(certificate)
    const weak = whyWeak(certificate.publicKey)
    if (weak !== undefined) parts.problem(field, `cannot be used: ${title} ${weak}`)
    const broken = isSelfSigned(certificate) ? undefined : brokenSignature(certificate)
    if (broken !== undefined) parts.problem(field, `cannot be used: ${title} is signed with ${broken}`)
    if (force || isRoot) continue
    const when = whenInvalid(certificate, now_ms)
    if (when !== undefined)
      parts.problem(field, `cannot be used without force: ${title} ${when}`, 'CERTIFICATE_EXPIRED')
  }
}

function whenInvalid(dates: { readonly validFrom: string; readonly validTo: string }, now_ms: number) {
  if (Date.parse(dates.validTo) < now_ms) return `has expired (${dates.validTo})`
  return Date.parse(dates.validFrom) > now_ms ? `is not valid yet (${dates.validFrom})` : undefined
}

function warningsOf({ links, isComplete }: Chain, now_ms: number): readonly string[] {
  const warnings = links.flatMap(({ certificate }, index) => {
    const when = index > 0 && isSelfSigned(certificate) ? undefined : whenInvalid(certificate, now_ms)
    return when === undefined ? [] : [`${nameOf(certificate.subject)} ${when}`]
  })
  const last = links.at(-1)?.certificate
  if (!isComplete && last !== undefined) {
    warnings.push(`the chain ends before a root: clients that do not know ${nameOf(last.issuer)} will refuse it`)
  }
  return warnings
}

/** Formats a subject such as "C=DE\nO=Example\nCN=www.example.org" as one line. */
function nameOf(subject: string | undefined): string {
  const lines = (subject ?? '').split('\n')
  return (lines.find((line) => line.startsWith('CN=')) ?? lines.join(', ')).slice(0, 200) || '(without a name)'
}
