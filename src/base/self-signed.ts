export interface SelfSigned {
  /** PEM, PKCS #8. */
  readonly key: string
  /** PEM. */
  readonly certificate: string
}

interface SubjectName {
  readonly type: 'dns' | 'ip'
  readonly value: string
}

/** A critical extension; software that does not know it must refuse the certificate. */
interface CriticalExtension {
  readonly oid: string
  /** DER. */
  readonly value: Uint8Array<ArrayBuffer>
}

/** Creates a self-signed certificate, EC P-256: something to present until there is a better one. */
export async function selfSigned(
  subject: string,
  names: readonly SubjectName[],
  years: number,
  critical: readonly CriticalExtension[] = [],
): Promise<SelfSigned> {
  // The library's dependency injection needs this polyfill first.
  await import('reflect-metadata')
  const { Extension, PemConverter, SubjectAlternativeNameExtension, X509CertificateGenerator } =
    await import('@peculiar/x509')
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const now = new Date()
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${subject}`,
    notBefore: now,
    notAfter: new Date(now.getFullYear() + years, now.getMonth(), now.getDate()),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new SubjectAlternativeNameExtension([...names]),
      ...critical.map(({ oid, value }) => new Extension(oid, true, value)),
    ],
  })
  const pkcs8 = await crypto.subtle.exportKey('pkcs8', keys.privateKey)
  return { key: PemConverter.encode(pkcs8, 'PRIVATE KEY'), certificate: certificate.toString('pem') }
}
