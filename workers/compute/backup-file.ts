import { type BackupHead, type BackupRead, readBackup } from '../../src/backup-file/reading.ts'
import type { FieldError } from '../../src/base/errors.ts'
import type { Certificate } from '../../src/model/certificates.ts'
import { readCertificate } from './certificate.ts'
import { parseUnambiguous } from './limited-json.ts'

/** A whole backup file with its records. `passphrase` is only for a sealed one. */
export interface BackupFile {
  readonly raw: Uint8Array
  readonly passphrase: string | undefined
}

/** Certificates are read again like uploaded ones: what the file says about them is not trusted. */
export function openBackup({ raw, passphrase }: BackupFile): BackupRead {
  const read = readBackup(raw, passphrase, parseUnambiguous)
  if ('problems' in read || read.contents === undefined) return read
  const problems: FieldError[] = []
  const certificates = read.contents.certificates?.map((stored) => {
    const again = reread(stored)
    if ('facts' in again) return { ...stored, ...again }
    problems.push({ field: `certificates.${stored.id}.chain`, code: 'INVALID', message: again.problem })
    return stored
  })
  if (problems.length > 0) return { problems: problems.slice(0, PROBLEMS_MAX) }
  return certificates === undefined ? read : { ...read, contents: { ...read.contents, certificates } }
}

const PROBLEMS_MAX = 100

function reread({
  chain,
  privateKey,
}: Certificate): Pick<Certificate, 'chain' | 'privateKey' | 'facts'> | { readonly problem: string } {
  const pem = `${chain}\n${privateKey}`
  // A certificate that has expired meanwhile is for the apply to judge.
  const read = readCertificate({ upload: { form: 'pem', pem }, password: '', force: true, now_ms: Date.now() })
  if ('certificate' in read) return read.certificate
  return { problem: `is not a certificate with its key: ${read.problems[0]?.message ?? 'it cannot be read'}` }
}

/** Returns the head of a valid file, or its problems. */
export function describeBackup(
  raw: Uint8Array,
): { readonly head: BackupHead } | { readonly problems: readonly FieldError[] } {
  const read = openBackup({ raw, passphrase: undefined })
  // The caller does not need the records, and copying them between threads takes time.
  return 'problems' in read ? read : { head: read.head }
}
