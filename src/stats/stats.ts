import type { StatsSource } from '../../workers/archive/messages.ts'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { HistoryAnswer, HistoryQuery, LiveAnswer, LiveView } from './answers.ts'
import type { ObjectNames } from './names.ts'
import { StatsService } from './service.ts'

export interface StatsOptions {
  /** Folder of the archive's own LMDB environment; made when missing. */
  readonly directory: string
  readonly source: StatsSource
  readonly names: ObjectNames
  readonly applianceId: string
  readonly log: Log
  readonly clock: Clock
}

export interface StatsState {
  readonly up: boolean
  readonly since_ms: number
  readonly reason: string | undefined
}

/** The statistics of Layer 7. Everything but the promises answers at once, from memory or from a read of the archive. */
export interface Stats {
  readonly live: {
    /** `undefined` when the id is not in the running configuration. */
    render(view: LiveView): LiveAnswer | undefined
  }
  /** `undefined` when the id is not in the running configuration. */
  readonly history: {
    frontend(id: string, query: HistoryQuery): HistoryAnswer | undefined
    backend(id: string, query: HistoryQuery): HistoryAnswer | undefined
    backendReals(id: string, query: HistoryQuery): HistoryAnswer | undefined
    rip(id: string, query: HistoryQuery): HistoryAnswer | undefined
  }
  /** Whether HAProxy answered the last poll, since when that is so, and why not. */
  state(): StatsState
  /** Resolves when the next poll has ended (answered or not) and its second is committed. */
  waitTick(): Promise<void>
  /** Polls at once. Call it right before a reload: what the ending worker counted since the last poll is then kept. */
  capture(): Promise<void>
  /** Verifies every invariant of the archive; `[]` when all hold. */
  check(): Promise<readonly string[]>
  /** Commits and closes. */
  close(): Promise<void>
}

/** Starts the archive thread and resolves when the archive is open. Rejects when it cannot be opened. */
export async function createStats(options: StatsOptions): Promise<Stats> {
  const service = new StatsService(options)
  try {
    await service.opened
  } catch (error) {
    await service.close()
    throw error
  }
  return service
}
