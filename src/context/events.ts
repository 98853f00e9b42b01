import type { Stream } from './rendered.ts'
import type { EventKind } from '../model/job.ts'

export interface EventsReader {
  /** What comes, after what came since the event with this number; of these kinds, of all when there are none. */
  stream(after: number | undefined, kinds: readonly EventKind[]): Stream
}
