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

/** A request to restore a backup: a part of it with `sections`, otherwise the whole. */
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

/** The result of a restore: what it stages. */
export interface Restoration {
  readonly contents: SectionContents
  readonly isFull: boolean
  /** Problems to repair before the apply. */
  readonly warnings: readonly string[]
  /** Id that this node assumes. */
  readonly wanted: string
  /** The other nodes of the backup, if the whole of it is restored. */
  readonly others: readonly { readonly id: string; readonly hostname: string }[]
}

export interface BackupsReader {
  /** Newest first. */
  list(): Promise<{ readonly uploads: BackupEntry[]; readonly auto: BackupEntry[] }>
  /** Writes running as a backup file, encrypted if there is a passphrase. */
  make(passphrase: string | undefined): Promise<Rendered>
  /**
   * Reads the file, which takes time; refuses with NOT_FOUND, with everything that is wrong with it, or with
   * JOB_IN_PROGRESS while another one is read. The function it resolves with returns what a restore would stage at the
   * time of the call.
   */
  opened(request: RestoreRequest, passphrase: string | undefined): Promise<() => Restoration>
}

/** The facts about a full restore that its check needs. */
export type Restored = Pick<Restoration, 'warnings' | 'wanted' | 'others'> & { readonly file: string }

export interface RestoreChecks {
  /**
   * Prepares the job that checks the candidate with the restored contents. Refuses with JOB_IN_PROGRESS while one runs.
   */
  prepare(restored: Restored, by: string): Promise<PreparedJob>
}

export interface BackupsActor extends BackupsReader {
  /** Stores the text of a backup file and resolves with its name; refuses an invalid one. */
  upload(text: string): Promise<string>
  /** Refuses with NOT_FOUND. */
  remove(file: string): Promise<void>
  removeAll(which: 'uploads' | 'auto' | 'all'): Promise<void>
}
