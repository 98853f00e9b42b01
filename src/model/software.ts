/** Readings of packages and volumes of the machine, as a probe worker makes them. */

/** A package that the next update would install or replace. */
export interface PendingPackage {
  readonly name: string
  readonly summary: string
  readonly description: string
  readonly url: string
  readonly license: string
  readonly architecture: string
  /** Label and version of its repository, such as Debian-Security:12. */
  readonly repository: string
  /** Suite, such as stable-security. */
  readonly release: string
  /** '' if it is not installed yet. */
  readonly currentVersion: string
  readonly pendingVersion: string
  readonly security: boolean
}

export interface PackageFacts {
  readonly pending: readonly PendingPackage[]
  /** Why apt cannot report pending packages. */
  readonly problem: string | undefined
}

/** Facts to check before packages are touched. */
export interface UpdateGround {
  /** The lock file that another program holds; undefined if none is held. */
  readonly lockedFile: string | undefined
  /** Bytes that would be downloaded. */
  readonly download_bytes: number
  /** Where files will be written, and the free bytes there. */
  readonly free: readonly { readonly path: string; readonly bytes: number }[]
  /** Files with package sources, and the suites they use. */
  readonly sources: readonly { readonly file: string; readonly suites: readonly string[] }[]
}

export interface LogicalVolume {
  readonly group: string
  readonly name: string
  readonly size_bytes: number
  /** Not used by any volume of the group. */
  readonly free_bytes: number
  readonly extent_bytes: number
}
export interface VolumeSnapshot {
  /** YYYY-MM-DD HH:MM:SS +0000. */
  readonly created: string
  readonly size_bytes: number
  /** Percent, as text with two decimals; undefined if LVM does not report it. */
  readonly used: string | undefined
  readonly state: 'available' | 'merging' | 'invalid'
}
/** The volume of the root file system and this daemon's snapshot of it. */
export type VolumeFacts =
  | { readonly isSupported: false; readonly reason: string }
  | {
      readonly isSupported: true
      readonly volume: LogicalVolume
      readonly snapshot: VolumeSnapshot | undefined
      /** Whether another volume of the group already has the snapshot's name. */
      readonly isNameTaken: boolean
    }
