import type { Actor } from './actor.ts'
import type { PendingPackage } from '../model/software.ts'

/** What handlers see of packages, snapshots, power, clock and console of this node. */

/** A job that was started for somebody. */
export interface Started {
  readonly job: string
  /** It only records what it would do. */
  readonly isDryRun: boolean
}

export interface OfferedVersion {
  readonly versionNumber: string
  readonly osRelease: string
  readonly changelogURL: string
  readonly osUpdate: boolean
}
export interface SoftwareStatus {
  readonly restartRequired: boolean
  readonly majorVersion: readonly OfferedVersion[]
  readonly details: readonly PendingPackage[]
  /** Why this is not all, or old; undefined when all is well. */
  readonly problem: string | undefined
}
export interface ForcedStatus extends SoftwareStatus {
  /** The repositories were not asked, because the profile keeps hands off the machine. */
  readonly isDryRun: boolean
}
export interface UploadedPackage {
  readonly name: string
  readonly version: string
  readonly arch: string
}

export interface UpdatesReader {
  /** What is known without asking anybody; refuses with NOT_SUPPORTED where there is no apt. */
  status(): Promise<SoftwareStatus>
  /** Asks the repositories first. */
  forced(): Promise<ForcedStatus>
}
export interface UpdatesActor extends UpdatesReader {
  /** Keeps the .deb file for the next update; `text` is its base64. Refuses with INVALID_BODY. */
  upload(text: string): Promise<UploadedPackage>
  /**
   * Starts the job that brings in everything; refuses with APPLY_IN_PROGRESS, JOB_IN_PROGRESS or NOT_SUPPORTED, and
   * unless it is forced with IN_USE, where the other nodes could not go on without this one.
   */
  start(isForced: boolean, by: string): Promise<Started>
  startMajor(versionNumber: string, isForced: boolean, by: string): Promise<Started>
}

/** What happened to the package of a service: it was updated, or a job goes on with it. */
export interface PackageUpdated {
  readonly job?: string
  /** Only recorded. */
  readonly isDryRun: boolean
}

export interface RollingActor {
  /**
   * Starts the job that updates a service on all nodes, one after the other; refuses what is no service, and a cluster
   * in which not all nodes are well.
   */
  start(service: string, author: Actor): Promise<Started>
}

export interface SnapshotStatus {
  /** YYYY-MM-DD HH:MM:SS +0000; '' when there is no snapshot. */
  readonly created: string
  readonly status: 'none' | 'creating' | 'available' | 'merging' | 'invalid'
  readonly size: string
  readonly used: string
}
export interface SnapshotsReader {
  /** Refuses with NOT_SUPPORTED where there is no LVM. */
  status(): Promise<SnapshotStatus>
}
export interface SnapshotsActor extends SnapshotsReader {
  create(by: string): Promise<Started>
  /** With `reboot`, the machine restarts at once; otherwise the restore waits for somebody to do that. */
  restore(reboot: boolean, by: string): Promise<Started>
  remove(by: string): Promise<Started>
}

export interface PowerActor {
  /**
   * Begins after the answer; refuses with JOB_IN_PROGRESS, and with IN_USE where the other nodes could not go on
   * without this one, unless it is forced.
   */
  request(
    change: 'halt' | 'reboot',
    request: {
      readonly drain_s: number
      readonly isForced: boolean
      readonly by: string
      /** The user who must still have the right when the connections have ended. */
      readonly author?: Actor | undefined
    },
  ): Promise<{ readonly isDryRun: boolean }>
}

export interface ClockActor {
  /** Sets the clock to this wall time of the node's zone, YYYY-MM-DD HH:MM:SS. */
  set(wallTime: string): Promise<{ readonly isDryRun: boolean }>
}

/** Console access as it is to be. */
export interface ConsoleChange {
  /** Whether the account can log in; undefined leaves it. */
  readonly shell: boolean | undefined
  /** `random` is known to nobody; undefined leaves it. */
  readonly password: { readonly secret: string } | 'random' | undefined
}

export interface ConsoleActor {
  /** The change takes place at once and cannot be undone. */
  change(change: ConsoleChange): Promise<{ readonly isDryRun: boolean }>
}
