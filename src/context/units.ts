import type { PackageUpdated } from './machine-care.ts'

export interface UnitEntry {
  readonly name: string
  readonly fullName: string
  readonly canReload: boolean
  readonly canUpdate: boolean
}

export interface UnitsReader {
  list(): readonly UnitEntry[]
}

export interface UnitsActor extends UnitsReader {
  /** Reloads or restarts a managed program; refuses with NOT_FOUND, NOT_SUPPORTED or CONFIG_INVALID. */
  operate(service: string, verb: 'reload' | 'restart', by: string): Promise<{ readonly isDryRun: boolean }>
  /**
   * Updates the service's package on this node; resolves early if the update ends this daemon. Refuses with NOT_FOUND
   * and NOT_SUPPORTED, and as any update does.
   */
  update(service: string, isForced: boolean, by: string): Promise<PackageUpdated>
}
