import type { Certificate, CertificateRead, CertificateUpload } from '../model/certificates.ts'

export interface CertificatesReader {
  /** Reads, checks and orders a certificate that was handed in; what is wrong with it is a value. */
  read(sent: Omit<CertificateUpload, 'now_ms'>): Promise<CertificateRead>
  /** Makes a self-signed one for these DNS names, to be replaced by what a CA issues. */
  placeholder(names: readonly string[]): Promise<Pick<Certificate, 'chain' | 'privateKey' | 'facts'>>
}
