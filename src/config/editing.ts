import type { Change, ConfigStore } from '../../storage/config/config-store.ts'
import { Draft } from './draft.ts'

/**
 * One editing request at a time: its checks and its write see the same candidate. Waiting costs one durable write
 * (milliseconds); readers and pollers never wait here.
 */
export class Editing {
  readonly #store: ConfigStore
  #last: Promise<unknown> = Promise.resolve()

  constructor(store: ConfigStore) {
    this.#store = store
  }

  /** Runs `work` on a draft and writes its edits, all or none. */
  edit<T>(
    origin: { readonly actor: string; readonly endpoint: string; readonly at: string },
    ifMatch: string | undefined,
    work: (draft: Draft) => T | Promise<T>,
  ): Promise<T> {
    return this.#inTurn(async () => {
      const draft = new Draft(this.#store, ifMatch)
      const result = await work(draft)
      if (draft.discarded.length > 0) await this.#store.discard(draft.discarded)
      if (draft.writes.length > 0) await this.#store.stage(draft.writes, origin)
      return result
    })
  }

  /** Takes pending changes back without asking who needs them: for edits of the daemon's own that came to nothing. */
  takeBack(isMine: (change: Change) => boolean): Promise<void> {
    return this.#inTurn(() => {
      const mine = this.#store.changes().filter(isMine)
      return this.#store.discard(mine.map((change) => change.id))
    })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }
}
