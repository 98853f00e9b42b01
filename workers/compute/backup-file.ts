import { type BackupHead, type BackupRead, readBackup } from '../../src/backup/reading.ts'
import type { FieldError } from '../../src/errors.ts'
import { parseUnambiguous } from './limited-json.ts'

/** Whole file, with its records; a sealed one with its passphrase only. */
export interface BackupFile {
  readonly raw: Uint8Array
  readonly passphrase: string | undefined
}

export function openBackup({ raw, passphrase }: BackupFile): BackupRead {
  return readBackup(raw, passphrase, parseUnambiguous)
}

/** What the file says of itself when everything in it is right. */
export function describeBackup(
  raw: Uint8Array,
): { readonly head: BackupHead } | { readonly problems: readonly FieldError[] } {
  const read = readBackup(raw, undefined, parseUnambiguous)
  // Records are of no use to who asks, and copying them from thread to thread takes time.
  return 'problems' in read ? read : { head: read.head }
}
