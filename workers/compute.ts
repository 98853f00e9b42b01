/** Tasks of the compute pool: work on bytes that would hold up the main thread. They touch nothing of the machine. */
import { type AuditQuery, type AuditSearched, searchAudit as search } from '../storage/audit/search.ts'
import { type BackupFile, describeBackup as describe, openBackup as open } from './compute/backup-file.ts'
import type { CertificateRead, CertificateUpload } from '../src/model/certificates.ts'
import { readCertificate as read } from './compute/certificate.ts'
import { placeholderFor } from './compute/placeholder.ts'
import { parseLimited } from './compute/limited-json.ts'
import { judgeSamlResponse, samlMetadataOf, type SamlParties, type SamlVerdict } from './compute/saml.ts'

export function parseJson(raw: Uint8Array): { readonly value: unknown } | undefined {
  return parseLimited(raw)
}

export function openBackup(file: BackupFile) {
  return open(file)
}

export function describeBackup(raw: Uint8Array) {
  return describe(raw)
}

export function searchAudit({
  folder,
  query,
  searched,
}: {
  readonly folder: string
  readonly query: AuditQuery
  readonly searched: AuditSearched
}): AuditSearched {
  return search(folder, query, searched)
}

export function readCertificate(upload: CertificateUpload): CertificateRead {
  return read(upload)
}

export function placeholderCertificate(asked: {
  readonly names: readonly string[]
  readonly now_ms: number
}): Promise<CertificateRead> {
  return placeholderFor(asked.names, asked.now_ms)
}

export function samlMetadata(parties: SamlParties): Promise<string> {
  return samlMetadataOf(parties)
}

export function judgeSaml(asked: {
  readonly parties: SamlParties
  readonly requestId: string
  readonly response: string
}): Promise<SamlVerdict> {
  return judgeSamlResponse(asked.parties, asked.requestId, asked.response)
}
