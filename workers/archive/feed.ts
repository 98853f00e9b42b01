import type { IpvsPlan } from '../../src/ipvs/names.ts'
import type { Tier } from '../../storage/archive/tiers.ts'
import type { ArchiveWriter } from '../../storage/archive/writer.ts'
import type { TickMessage, TickState } from './messages.ts'
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

/** What the main thread is told, and the memory that is moved there with it. */
export interface Told<Tick> {
  readonly message: TickMessage<Tick>
  readonly transfer: readonly ArrayBuffer[]
}

/**
 * A source of figures with the bookkeeping of its counters: what the archive thread polls in its rhythm. What a poll
 * brought is absorbed, and what was absorbed may be told.
 */
export interface Feed<Polled, Absorbed extends object, Tick> {
  readonly collector: Bookkeeping
  /** There is nothing to poll for: no time passes in the archive. */
  readonly isIdle: boolean
  /** Which entries are whose, for a source that does not say it itself. */
  take?(plan: IpvsPlan): void
  /** Asks the source once. */
  poll(deadline_ms: number): Promise<Polled>
  /** Adds what a poll brought. Answers with the reason when there is nothing to add. */
  absorb(polled: Polled, time: PollTime): Absorbed | string
  /** `absorbed` is `undefined` when there was nothing to absorb. */
  message(absorbed: Absorbed | undefined, state: TickState): Told<Tick>
}

/** What an archive keeps, and how often. */
export interface Rhythm<Polled, Absorbed extends object, Tick> {
  readonly tiers: readonly Tier[]
  /** Length of the archive's seconds. Everything that is measured in them is, but for what the main thread is told. */
  readonly step_s: number
  /** After the second has ended, so that the poll belongs to it. */
  readonly offset_ms: number
  readonly feed: (writer: ArchiveWriter) => Feed<Polled, Absorbed, Tick>
}
