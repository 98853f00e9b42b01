import type { Stream } from './rendered.ts'

/** Live figures of both layers, as they change. */
export interface FigureStreamsReader {
  /** Whether an object of this node has the id. */
  has(id: string): boolean
  /**
   * What is there, and each second what has changed of it; after `lastId` only that, where it is known what that was.
   * No ids: of everything. Refuses with TOO_MANY_AT_ONCE who follows too many different sets.
   */
  stream(ids: readonly string[], lastId: string, userId: string): Stream
}
