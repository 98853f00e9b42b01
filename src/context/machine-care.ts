import type { Actor } from './actor.ts'
import type { PendingPackage } from '../model/software.ts'

/** Packages, snapshots, power, clock and console of this node, as handlers see them. */

/** A job that was started for a user. */
export interface Started {
  readonly job: string
  /** Whether it only records what it would do. */
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
  /** Why the list is incomplete or old; undefined if it is neither. */
  readonly problem: string | undefined
}
export interface ForcedStatus extends SoftwareStatus {
  /** Whether the repositories were not asked, because the profile does not touch the machine. */
  readonly isDryRun: boolean
}
export interface UploadedPackage {
  readonly name: string
  readonly version: string
  readonly arch: string
}

export interface UpdatesReader {
  /** Returns what is known locally; refuses with NOT_SUPPORTED if there is no apt. */
  status(): Promise<SoftwareStatus>
  /** Asks the repositories first. */
  forced(): Promise<ForcedStatus>
}
export interface UpdatesActor extends UpdatesReader {
  /** Keeps the .deb file for the next update; `text` is its base64. Refuses with INVALID_BODY. */
  upload(text: string): Promise<UploadedPackage>
  /**
   * Starts the job that installs all updates. Refuses with APPLY_IN_PROGRESS, JOB_IN_PROGRESS or NOT_SUPPORTED, and
   * unless forced with IN_USE if the other nodes could not go on without this one.
   */
  start(isForced: boolean, by: string): Promise<Started>
  startMajor(versionNumber: string, isForced: boolean, by: string): Promise<Started>
}

/** The outcome of a service's package update: it was updated, or a job continues with it. */
export interface PackageUpdated {
  readonly job?: string
  /** Whether it was only recorded. */
  readonly isDryRun: boolean
}

export interface RollingActor {
  /**
   * Starts the job that updates a service on all nodes, one after the other; refuses an unknown service, and a cluster
   * in which some node is not well.
   */
  start(service: string, author: Actor): Promise<Started>
}

export interface SnapshotStatus {
  /** YYYY-MM-DD HH:MM:SS +0000; '' if there is no snapshot. */
  readonly created: string
  readonly status: 'none' | 'creating' | 'available' | 'merging' | 'invalid'
  readonly size: string
  readonly used: string
}
export interface SnapshotsReader {
  /** Refuses with NOT_SUPPORTED if there is no LVM. */
  status(): Promise<SnapshotStatus>
}
export interface SnapshotsActor extends SnapshotsReader {
  create(by: string): Promise<Started>
  /** With `reboot`, the machine restarts at once; otherwise the restore waits for the next restart. */
  restore(reboot: boolean, by: string): Promise<Started>
  remove(by: string): Promise<Started>
}

export interface PowerActor {
  /**
   * Begins after the answer; refuses with JOB_IN_PROGRESS, and unless forced with IN_USE if the other nodes could not
   * go on without this one.
   */
  request(
    change: 'halt' | 'reboot',
    request: {
      readonly drain_s: number
      readonly isForced: boolean
      readonly by: string
      /** The user who must still have the right once the connections have ended. */
      readonly author?: Actor | undefined
    },
  ): Promise<{ readonly isDryRun: boolean }>
}

export interface ClockActor {
  /** Sets the clock to this wall time in the node's time zone, YYYY-MM-DD HH:MM:SS. */
  set(wallTime: string): Promise<{ readonly isDryRun: boolean }>
}

/** The wanted console access. */
export interface ConsoleChange {
  /** Whether the account can log in; undefined for no change. */
  readonly shell: boolean | undefined
  /** `random` sets a password that nobody knows; undefined for no change. */
  readonly password: { readonly secret: string } | 'random' | undefined
}

export interface ConsoleActor {
  /** Takes effect at once and cannot be undone. */
  change(change: ConsoleChange): Promise<{ readonly isDryRun: boolean }>
}
