import { createPrivateKey, X509Certificate } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { selfSigned } from '../base/self-signed.ts'
import type { WatchedCertificate } from '../watches/certificate-watch.ts'

const YEARS = 10

const filesIn = (directory: string): CertificateFiles => ({
  keyFile: join(directory, 'api-key.pem'),
  certificateFile: join(directory, 'api-certificate.pem'),
})

/** Returns the certificates of the API that are watched for expiry; [] before the first start. */
export function apiCertificate(directory: string): readonly WatchedCertificate[] {
  const { certificateFile } = filesIn(directory)
  if (!existsSync(certificateFile)) return []
  const { fingerprint256, validTo } = new X509Certificate(readFileSync(certificateFile))
  const name = 'certificate of the API'
  return [{ name, fingerprint: fingerprint256, notAfter: new Date(validTo), usedBy: ['user interface'] }]
}

export interface CertificateFiles {
  readonly keyFile: string
  readonly certificateFile: string
}

/**
 * Returns the certificate that the API presents until an administrator uploads another: self-signed, EC P-256, made at
 * the first start.
 */
export async function ensureCertificate(directory: string, addresses: readonly string[]): Promise<CertificateFiles> {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const files = filesIn(directory)
  if (existsSync(files.keyFile) && existsSync(files.certificateFile)) {
    assertPair(files)
    return files
  }
  const subject = hostname().replaceAll(/[^A-Za-z0-9.-]/g, '') || 'fulcrum'
  const ips = addresses.map((value) => ({ type: 'ip' as const, value }))
  const { key, certificate } = await selfSigned(subject, [{ type: 'dns', value: 'localhost' }, ...ips], YEARS)
  write(files.certificateFile, certificate)
  write(files.keyFile, key)
  return files
}

/** uWebSockets.js does not say which file is wrong, and an administrator needs to know. */
function assertPair({ keyFile, certificateFile }: CertificateFiles): void {
  try {
    const certificate = new X509Certificate(readFileSync(certificateFile))
    if (certificate.checkPrivateKey(createPrivateKey(readFileSync(keyFile)))) return
  } catch {
    // Reported below.
  }
  throw new Error(`${certificateFile} and ${keyFile} are not a certificate and its key; restore them, or remove both`)
}

/** Writes the file whole or not at all, and at no moment readable by others. */
function write(file: string, content: string): void {
  const descriptor = openSync(`${file}.new`, 'w', 0o600)
  writeSync(descriptor, content)
  fsyncSync(descriptor)
  closeSync(descriptor)
  renameSync(`${file}.new`, file)
}
