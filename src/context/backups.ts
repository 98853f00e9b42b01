import type { PreparedJob } from './jobs.ts'
import type { SectionContents } from '../model/sections.ts'
import type { Rendered } from './rendered.ts'

/** One backup file, as the list shows it. */
export interface BackupEntry {
  readonly file: string
  /** DD/MM/YYYY HH:MM:SS +0000 */
  readonly dateTime: string
  readonly nodes: { readonly id: string; readonly hostname: string }[]
  readonly sections: {
    readonly name: string
    readonly nameFull: string
    readonly version: number
    readonly partRestore: boolean
  }[]
}

/** What is restored and how. With `sections` it is a part, without them the whole. */
export interface RestoreRequest {
  readonly file: string
  readonly nodeId?: string
  readonly ip?: string
  readonly mask?: number
  readonly gateway?: string
  readonly interface?: string
  readonly sections?: readonly string[]
  readonly fipActive?: boolean
}

/** What a restore stages. */
export interface Restoration {
  readonly contents: SectionContents
  readonly isFull: boolean
  /** What has to be repaired before the apply. */
  readonly warnings: readonly string[]
  /** Id of the node that this one becomes. */
  readonly wanted: string
  /** The other nodes of the backup, when the whole of it is restored. */
  readonly others: readonly { readonly id: string; readonly hostname: string }[]
}

export interface BackupsReader {
  /** Newest first. */
  list(): Promise<{ readonly uploads: BackupEntry[]; readonly auto: BackupEntry[] }>
  /** Running as a backup file, under the passphrase when one is given. */
  make(passphrase: string | undefined): Promise<Rendered>
  /**
   * Reads the file, which takes its time; refuses with NOT_FOUND, with everything that is wrong with it, or with
   * JOB_IN_PROGRESS while another one is read. Then says what restoring it stages at that moment.
   */
  opened(request: RestoreRequest, passphrase: string | undefined): Promise<() => Restoration>
}

/** What the check of a full restore needs to know of it. */
export type Restored = Pick<Restoration, 'warnings' | 'wanted' | 'others'> & { readonly file: string }

export interface RestoreChecks {
  /**
   * The job that checks the candidate with what this request restores of a file: its id, and what starts it when that
   * is staged. Refuses with JOB_IN_PROGRESS while there is one.
   */
  prepare(restored: Restored, by: string): Promise<PreparedJob>
}

export interface BackupsActor extends BackupsReader {
  /** Keeps the text of a backup file; refuses one in which anything is wrong. Answers its name. */
  upload(text: string): Promise<string>
  /** Refuses with NOT_FOUND. */
  remove(file: string): Promise<void>
  removeAll(which: 'uploads' | 'auto' | 'all'): Promise<void>
}
