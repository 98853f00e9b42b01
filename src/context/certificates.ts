import type { CertificateRead, CertificateUpload } from '../model/certificates.ts'

export interface CertificatesReader {
  /** Reads, checks and orders a certificate that was handed in; what is wrong with it is a value. */
  read(sent: Omit<CertificateUpload, 'now_ms'>): Promise<CertificateRead>
}
