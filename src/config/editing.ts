import type { Change, ConfigStore, Origin, Write } from '../../storage/config/config-store.ts'
import { type Built, staging } from '../../storage/config/entry.ts'
import type { Clock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { refuseLastAdministrator } from '../rules/administrators.ts'
import { Draft } from './draft.ts'
import { isOfAccess, type May } from './needed-rights.ts'
import type { Joined } from './transactions.ts'
import { configView } from './views.ts'

/** Returns the author and endpoint of an edit, and the time. */
export const originOf = (actor: string, endpoint: string, clock: Clock): Origin => ({
  actor,
  endpoint,
  at: new Date(clock.now_ms()).toISOString(),
})

interface EditOptions {
  /** The transaction that the edits are part of. */
  readonly join?: (() => Joined) | undefined
  readonly afterwards?: () => Promise<void> | undefined
}

/**
 * One editing request at a time: its checks and its write see the same candidate. Waiting costs one durable write
 * (milliseconds); readers and pollers never wait here.
 */
export class Editing {
  readonly #store: ConfigStore
  readonly #administratorRole: string | undefined

  /** `administratorRole`: no edit may leave this role without a holder who can log in. */
  constructor(store: ConfigStore, administratorRole?: string) {
    this.#store = store
    this.#administratorRole = administratorRole
  }

  /** Runs `work` on a draft and writes its edits, all or none; then calls `afterwards`. */
  edit<T>(
    origin: Origin,
    ifMatch: string | undefined,
    work: (draft: Draft) => T | Promise<T>,
    { join, afterwards }: EditOptions = {},
  ): Promise<T> {
    return this.#store.edit(async () => {
      const joined = join?.()
      const draft = new Draft(this.#store, ifMatch, joined?.writes)
      const result = await work(draft)
      if (joined === undefined && origin.endpoint !== 'backups.restore') this.#refuseLockout(draft)
      const staged = joined === undefined ? draft.writes : []
      const entry = staging(origin, staged, draft.discarded, newId)
      const end = async () => {
        await joined?.save(draft.transactionWrites)
        await afterwards?.()
      }
      return { result, entry, afterwards: end }
    })
  }

  /**
   * Adds the edits of a transaction to the candidate, unless one of its records was edited outside it meanwhile. The
   * same entry ends the transaction, so it is either open or committed; `forget` deletes its edits.
   */
  commit(origin: Origin, may: May, join: () => Joined, forget: (id: string) => Promise<void>): Promise<void> {
    return this.#store.edit(() => {
      const { id, writes } = join()
      const entry = staging(origin, this.checked(writes, origin, may), [], newId, id)
      return { result: undefined, entry, afterwards: () => forget(id) }
    })
  }

  /**
   * Returns the edits of a transaction as they would be staged. Refuses if one of its records was edited outside it
   * meanwhile.
   */
  checked(held: Joined['writes'], origin: Origin, may: May): readonly Write[] {
    const { candidate } = this.#store
    const conflicts = held.filter(
      ({ section, scope, key, base }) => (candidate.get(section, scope, key)?.revision ?? null) !== base,
    )
    if (conflicts.length > 0) {
      const message = 'Records of this transaction have been changed outside it; roll it back and repeat'
      const records = conflicts.map(({ section, key }) => ({ resource: section, resourceId: key }))
      throw new ApiError('REVISION_MISMATCH', message, { data: { records } })
    }
    const draft = new Draft(this.#store, undefined, held)
    draft.checkAll(origin, may)
    this.#refuseLockout(draft)
    return held.map(({ section, scope, key, value }) => ({ section, scope, key, value }))
  }

  /**
   * A restore is exempt: the check of a backup reports this with everything else that is wrong, and the apply refuses
   * it too.
   */
  #refuseLockout({ writes, view }: Draft): void {
    const role = this.#administratorRole
    if (role === undefined || !isOfAccess(writes)) return
    refuseLastAdministrator(configView(this.#store.candidate), view, role)
  }

  /**
   * Takes pending changes back without checking whether other records refer to them: for edits by the daemon that
   * failed.
   */
  takeBack(isMine: (change: Change) => boolean, origin: Origin): Promise<void> {
    return this.#store.edit(() => {
      const mine = this.#store.staged().filter(isMine)
      const discards = mine.map((change) => change.id)
      return { result: undefined, entry: staging(origin, [], discards, newId) }
    })
  }

  /** Changes records between edits: an edit under way is written first, and the next one sees this change. */
  between<T>(build: () => Built<T> | Promise<Built<T>>): Promise<T> {
    return this.#store.edit(build)
  }
}
