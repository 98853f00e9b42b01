import { selfSigned } from '../../src/base/self-signed.ts'
import type { CertificateRead } from '../../src/model/certificates.ts'
import { readCertificate } from './certificate.ts'

const YEARS = 1
const COMMON_NAME_MAX = 64

/** Makes the self-signed certificate that is presented for these DNS names until a CA has issued one. */
export async function placeholderFor(names: readonly string[], now_ms: number): Promise<CertificateRead> {
  const subject = names.find((name) => name.length <= COMMON_NAME_MAX) ?? 'fulcrum'
  const dns = names.map((value) => ({ type: 'dns' as const, value }))
  const { key, certificate: cert } = await selfSigned(subject, dns, YEARS)
  const upload = { form: 'parts', cert, privateKey: key, otherCerts: [] } as const
  return readCertificate({ upload, password: '', force: true, now_ms })
}
