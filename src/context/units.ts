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
  /** Operates one managed program; refuses with NOT_FOUND, NOT_SUPPORTED or CONFIG_INVALID. */
  operate(service: string, verb: 'reload' | 'restart', by: string): Promise<{ readonly isDryRun: boolean }>
  /**
   * Brings its package of this node up to date; resolves before the end where that ends this daemon. Refuses with
   * NOT_FOUND and NOT_SUPPORTED, and with what an update is refused with.
   */
  update(service: string, isForced: boolean, by: string): Promise<PackageUpdated>
}
