import type { IpvsPlan } from '../../src/ipvs/names.ts'
import type { Tier } from '../../storage/archive/tiers.ts'
import type { ArchiveWriter } from '../../storage/archive/writer.ts'
import type { TickMessage, TickState } from './messages.ts'
import type { PollTime } from './sampled-seconds.ts'

/** The counters of a feed, turned into seconds. */
export interface Bookkeeping {
  /** Ends the seconds before `tick_s` with the absorbed figures. */
  close(tick_s: number, time: PollTime): void
  /** A poll brought nothing to absorb. */
  miss(tick_s: number, time: PollTime): void
  /** The stored counters are lost: all are stored again with the next second. */
  storeAll(): void
}

/** A message to the main thread, and the memory that is moved with it. */
export interface Told<Tick> {
  readonly message: TickMessage<Tick>
  readonly transfer: readonly ArrayBuffer[]
}

/** A source of figures and the bookkeeping of its counters, polled by the archive thread at its rhythm. */
export interface Feed<Polled, Absorbed extends object, Tick> {
  readonly collector: Bookkeeping
  /** Nothing is configured to poll for: no time passes in the archive. */
  readonly isIdle: boolean
  /** Sets which entries belong to which objects, for a source that does not report it. */
  take?(plan: IpvsPlan): void
  /** Polls the source once. */
  poll(deadline_ms: number): Promise<Polled>
  /** Adds the figures of a poll. Returns the reason when there are none. */
  absorb(polled: Polled, time: PollTime): Absorbed | string
  /** `absorbed` is `undefined` when the poll brought nothing to absorb. */
  message(absorbed: Absorbed | undefined, state: TickState): Told<Tick>
}

/** The feed of an archive, and how often it is polled. */
export interface Rhythm<Polled, Absorbed extends object, Tick> {
  readonly tiers: readonly Tier[]
  /** Length of the archive's seconds, the unit of every time in it except in messages to the main thread. */
  readonly step_s: number
  /** Delay after the end of a second, so that the poll belongs to that second. */
  readonly offset_ms: number
  readonly feed: (writer: ArchiveWriter) => Feed<Polled, Absorbed, Tick>
}
