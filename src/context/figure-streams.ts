import type { Stream } from './rendered.ts'

/** Live figures of both layers, as they change. */
export interface FigureStreamsReader {
  /** Returns whether an object of this node has the id. */
  has(id: string): boolean
  /**
   * Streams the current figures, then the changes each second; with a known `lastId`, only the changes since. Without
   * ids: for all objects. Refuses callers that follow too many different sets with TOO_MANY_AT_ONCE.
   */
  stream(ids: readonly string[], lastId: string, userId: string): Stream
}
