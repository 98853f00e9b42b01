import type { KeyObject, X509Certificate } from 'node:crypto'
import type { CertificateFacts } from '../../src/model/certificates.ts'

const RSA_BITS_MIN = 2048
/** Larger keys make handshakes so slow that a few clients keep a core busy. */
const RSA_BITS_MAX = 8192
const CURVES: ReadonlySet<string> = new Set(['prime256v1', 'secp384r1', 'secp521r1'])
const NAMES_MAX = 10_000
const TEXT_MAX = 4096

/** Kind and size: "rsa 2048", "ec prime256v1", "ed25519". */
export function keyTypeOf(key: KeyObject): string {
  const { asymmetricKeyType: type = 'unknown', asymmetricKeyDetails: details } = key
  const size = type.startsWith('rsa') ? details?.modulusLength : details?.namedCurve
  return size === undefined ? type : `${type} ${size}`
}

/** Returns why this key is too weak to trust; undefined for a good one. */
export function whyWeak(key: KeyObject): string | undefined {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  if (type === 'ed25519') return undefined
  if (type === 'rsa') {
    const bits = details?.modulusLength ?? 0
    if (bits < RSA_BITS_MIN) return `has an RSA key of ${bits} bits; at least ${RSA_BITS_MIN} are required`
    return bits > RSA_BITS_MAX ? `has an RSA key of ${bits} bits; at most ${RSA_BITS_MAX} are accepted` : undefined
  }
  if (type === 'ec') {
    const curve = details?.namedCurve
    if (curve !== undefined && CURVES.has(curve)) return undefined
    return `has a key on the curve ${curve ?? '(of its own)'}; P-256, P-384 and P-521 are accepted`
  }
  return `has a key of type ${type ?? 'unknown'}; RSA, EC (P-256, P-384, P-521) and Ed25519 are accepted`
}

/** Signature algorithms that have been forged, by encoded object identifier. */
const BROKEN: Readonly<Record<string, string>> = {
  '2a864886f70d010102': 'MD2',
  '2a864886f70d010104': 'MD5',
  '2a864886f70d010105': 'SHA-1',
  '2a8648ce380403': 'SHA-1',
  '2a8648ce3d0401': 'SHA-1',
  '2b0e03021d': 'SHA-1',
  '2b0e030203': 'MD5',
}
const PSS = '2a864886f70d01010a'
/** SHA-256, SHA-384 and SHA-512; PSS without one of them in its parameters means SHA-1. */
const SHA2 = ['608648016503040201', '608648016503040202', '608648016503040203']

/** Returns "MD5" or "SHA-1" when the certificate is signed with it; undefined for a sound signature. */
export function brokenSignature(certificate: X509Certificate): string | undefined {
  const algorithm = signatureAlgorithm(certificate.raw)
  if (algorithm === undefined) return undefined
  const { oid, parameters } = algorithm
  if (oid === PSS) return SHA2.some((hash) => parameters.includes(hash)) ? undefined : 'SHA-1'
  return BROKEN[oid]
}

/**
 * Returns the algorithm in Certificate ::= SEQUENCE { tbs, signatureAlgorithm SEQUENCE { OID, parameters }, signature
 * }, in hexadecimal.
 */
function signatureAlgorithm(der: Buffer): { readonly oid: string; readonly parameters: string } | undefined {
  const tbs = valueAt(der, valueAt(der, 0)?.start)
  const algorithm = valueAt(der, tbs?.end)
  const oid = valueAt(der, algorithm?.start)
  if (algorithm === undefined || oid === undefined) return undefined
  return { oid: der.toString('hex', oid.start, oid.end), parameters: der.toString('hex', oid.end, algorithm.end) }
}

/** Returns where the contents of the DER value at this offset begin and end. OpenSSL has validated the whole before. */
function valueAt(der: Buffer, at: number | undefined): { readonly start: number; readonly end: number } | undefined {
  const length = at === undefined ? undefined : der[at + 1]
  if (at === undefined || length === undefined) return undefined
  if (length < 0x80) return { start: at + 2, end: at + 2 + length }
  const bytes = length & 0x7f
  if (bytes === 0 || bytes > 4 || at + 2 + bytes > der.length) return undefined
  const start = at + 2 + bytes
  return { start, end: start + der.readUIntBE(at + 2, bytes) }
}

/** Returns undefined when the dates cannot be read. */
export function factsOf(certificate: X509Certificate): CertificateFacts | undefined {
  const from = new Date(certificate.validFrom)
  const to = new Date(certificate.validTo)
  if (Number.isNaN(from.getTime()) || Number.isNaN(to.getTime())) return undefined
  const subject: unknown = certificate.toLegacyObject().subject
  return {
    commonName: part(subject, 'CN'),
    organisation: part(subject, 'O'),
    country: part(subject, 'C'),
    subjectAlt: namesOf(certificate.subjectAltName ?? ''),
    validFrom: from.toISOString(),
    validTo: to.toISOString(),
    fingerprint: certificate.fingerprint256,
    keyType: keyTypeOf(certificate.publicKey),
  }
}

/** A subject may have a part several times; programs show the first. */
function part(subject: unknown, name: string): string {
  const value: unknown = typeof subject === 'object' && subject !== null ? Reflect.get(subject, name) : undefined
  const first: unknown = Array.isArray(value) ? value[0] : value
  return typeof first === 'string' ? first.slice(0, TEXT_MAX) : ''
}

/** Parses the host names and addresses of `DNS:a, IP Address:192.0.2.1`; ambiguous values are quoted. */
function namesOf(subjectAltName: string): string[] {
  const names: string[] = []
  for (const [, kind, value = ''] of subjectAltName.matchAll(/(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,"]*)/g)) {
    if (names.length === NAMES_MAX) break
    if (kind === 'DNS' || kind === 'IP Address') names.push(unquoted(value).slice(0, TEXT_MAX))
  }
  return names
}

function unquoted(value: string): string {
  if (!value.startsWith('"')) return value
  try {
    return String(JSON.parse(value))
  } catch {
    return value
  }
}
