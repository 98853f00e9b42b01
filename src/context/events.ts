import type { Stream } from './rendered.ts'
import type { EventKind } from '../model/job.ts'

export interface EventsReader {
  /** What came last, newest first; so many at the most. */
  latest(
    count: number,
  ): readonly { readonly id: number; readonly at: string; readonly kind: EventKind; readonly data: object }[]
  /** What comes, after what came since the event with this number; of these kinds, of all when there are none. */
  stream(after: number | undefined, kinds: readonly EventKind[]): Stream
}
