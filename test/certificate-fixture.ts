import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { ensureCertificate } from '../src/certificate.ts'
import type { Certificate } from '../src/model/certificates.ts'
import { temporaryFolder } from './config-fixture.ts'

/** A self-signed certificate of its own, as it is stored. */
export async function certificateRecord(test: Test, id: string): Promise<Certificate> {
  const files = await ensureCertificate(temporaryFolder(test, `certificate-${id}`), ['127.0.0.1'])
  const chain = readFileSync(files.certificateFile, 'utf8')
  const { fingerprint256, validFrom, validTo } = new X509Certificate(chain)
  return {
    id,
    name: `Certificate ${id}`,
    chain,
    privateKey: readFileSync(files.keyFile, 'utf8'),
    facts: {
      commonName: 'localhost',
      organisation: '',
      country: '',
      subjectAlt: ['localhost', '127.0.0.1'],
      validFrom: new Date(validFrom).toISOString(),
      validTo: new Date(validTo).toISOString(),
      fingerprint: fingerprint256,
      keyType: 'ec prime256v1',
    },
  }
}
