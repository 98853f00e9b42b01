import type { StorageFault } from '../../workers/archive/storage-watch.ts'

/** Whether HAProxy answers, and whether its figures are stored. */
export interface StatsState {
  readonly up: boolean
  readonly since_ms: number
  readonly reason: string | undefined
  /** The fault that keeps the archive from storing, or from storing everything. */
  readonly storage: StorageFault | undefined
}
