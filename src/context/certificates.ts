import type { Certificate, CertificateRead, CertificateUpload } from '../model/certificates.ts'

export interface CertificatesReader {
  /** Reads, checks and orders an uploaded certificate; problems are returned, not thrown. */
  read(sent: Omit<CertificateUpload, 'now_ms'>): Promise<CertificateRead>
  /** Makes a self-signed certificate for these DNS names, to be replaced by the one a CA issues. */
  placeholder(names: readonly string[]): Promise<Pick<Certificate, 'chain' | 'privateKey' | 'facts'>>
}
