import type { Stream } from './rendered.ts'
import type { EventKind } from '../model/job.ts'

export interface EventsReader {
  /** Returns the latest events, newest first, at most `count`. */
  latest(
    count: number,
  ): readonly { readonly id: number; readonly at: string; readonly kind: EventKind; readonly data: object }[]
  /**
   * Streams new events, after those that followed event number `after`; only of these kinds, or of all if the list is
   * empty.
   */
  stream(after: number | undefined, kinds: readonly EventKind[]): Stream
}
