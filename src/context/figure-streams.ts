import type { Stream } from './rendered.ts'

/** Live figures of both layers, as they change. */
export interface FigureStreamsReader {
  /** Whether an object of this node has the id. */
  has(id: string): boolean
  /**
   * The current figures, and then each second the changes; after `lastId` only the changes since, if they are known.
   * Without ids: of everything. Refuses callers that follow too many different sets with TOO_MANY_AT_ONCE.
   */
  stream(ids: readonly string[], lastId: string, userId: string): Stream
}
