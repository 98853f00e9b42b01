import type { Change, ConfigStore, ConfigWriter, Origin } from '../../storage/config/config-store.ts'
import { ApiError } from '../errors.ts'
import { Draft } from './draft.ts'
import type { May } from './needed-rights.ts'
import type { Joined } from './transactions.ts'

/**
 * One editing request at a time: its checks and its write see the same candidate. Waiting costs one durable write
 * (milliseconds); readers and pollers never wait here.
 */
export class Editing {
  readonly #store: ConfigStore

  constructor(store: ConfigStore) {
    this.#store = store
  }

  /** Runs `work` on a draft and writes its edits, all or none. */
  edit<T>(
    origin: Origin,
    ifMatch: string | undefined,
    work: (draft: Draft) => T | Promise<T>,
    join?: () => Joined,
  ): Promise<T> {
    return this.#store.exclusively(async (writer) => {
      const joined = join?.()
      const draft = new Draft(this.#store, ifMatch, joined?.writes)
      const result = await work(draft)
      if (draft.discarded.length > 0) await writer.discard(draft.discarded)
      if (joined !== undefined) await joined.save(draft.transactionWrites)
      else if (draft.writes.length > 0) await writer.stage(draft.writes, origin)
      return result
    })
  }

  /** Makes what a transaction holds part of the candidate, unless one of its records was edited outside it meanwhile. */
  commit(origin: Origin, may: May, join: () => Joined, end: () => Promise<void>): Promise<void> {
    return this.#store.exclusively(async (writer) => {
      const { writes } = join()
      const { candidate } = this.#store
      const conflicts = writes.filter(
        ({ section, scope, key, base }) => (candidate.get(section, scope, key)?.revision ?? null) !== base,
      )
      if (conflicts.length > 0) {
        const message = 'Records of this transaction were changed outside it meanwhile; roll it back and repeat'
        const records = conflicts.map(({ section, key }) => ({ resource: section, resourceId: key }))
        throw new ApiError('REVISION_MISMATCH', message, { data: { records } })
      }
      new Draft(this.#store, undefined, writes).checkAll(origin, may)
      // A crash in between leaves an open transaction whose commit is refused: nothing is lost, nothing is done twice.
      const plain = writes.map(({ section, scope, key, value }) => ({ section, scope, key, value }))
      if (plain.length > 0) await writer.stage(plain, origin)
      await end()
    })
  }

  /** Takes pending changes back without asking who needs them: for edits of the daemon's own that came to nothing. */
  takeBack(isMine: (change: Change) => boolean): Promise<void> {
    return this.#store.exclusively((writer) => {
      const mine = this.#store.changes().filter(isMine)
      return writer.discard(mine.map((change) => change.id))
    })
  }

  /** For what changes a record that somebody may be editing right now: that edit is written first, and the next sees this one. */
  between<T>(work: (writer: ConfigWriter) => Promise<T>): Promise<T> {
    return this.#store.exclusively(work)
  }

  /** Resolves when every edit that was begun is written, or has failed. */
  settled(): Promise<void> {
    return this.#store.exclusively(() => Promise.resolve())
  }
}
