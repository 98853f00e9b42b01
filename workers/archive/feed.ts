import type { Tier } from '../../storage/archive/tiers.ts'
import type { ArchiveWriter } from '../../storage/archive/writer.ts'
import type { HaproxyTick, IpvsTick, TickState } from './messages.ts'
import type { PollTime } from './sampled-seconds.ts'

/** What the counters of a feed have become, second by second. */
export interface Bookkeeping {
  /** Ends the seconds before `tick_s` with what was absorbed. */
  close(tick_s: number, time: PollTime): void
  /** There was nothing to absorb. */
  miss(tick_s: number, time: PollTime): void
  /** The stored counters are gone: all are stored anew with the next second. */
  storeAll(): void
}

/** A source of figures with the bookkeeping of its counters: what the archive thread polls in its rhythm. */
export interface Feed {
  readonly collector: Bookkeeping
  /** There is nothing to ask for: no time passes in the archive. */
  readonly isIdle: boolean
  /** Asks the source once. */
  ask(deadline_ms: number): Promise<void>
  /** Adds what the last question brought. Answers why there is nothing to add. */
  absorb(time: PollTime): string | undefined
  /** What the main thread is told of the last question, and the memory that is moved there with it. */
  message(state: TickState): {
    readonly message: (TickState & HaproxyTick) | (TickState & IpvsTick)
    readonly transfer: readonly ArrayBuffer[]
  }
}

/** What an archive keeps, and how often. */
export interface Rhythm<F extends Feed> {
  readonly tiers: readonly Tier[]
  /** Length of the archive's seconds. Everything that is measured in them is, but for what the main thread is told. */
  readonly step_s: number
  /** After the second has ended, so that the poll belongs to it. */
  readonly offset_ms: number
  readonly feed: (writer: ArchiveWriter) => F
}
