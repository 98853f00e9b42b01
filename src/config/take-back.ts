import type { ConfigStore, RevisionHeader, Unconfirmed } from '../../storage/config/config-store.ts'
import { ApiError } from '../base/errors.ts'
import type { WentLive } from '../context/applying.ts'
import type { PlanFailure } from './apply-refusals.ts'
import type { ApplyParts } from './apply-parts.ts'
import type { Enactor } from './enactor.ts'
import { type May, refuseForeign } from './needed-rights.ts'
import { prepare } from './turns.ts'
import { wentLive } from './went-live.ts'
import {
  configView,
  frozenView,
  judgedAs,
  lastMade,
  pendingAgain,
  recordChange,
  reverseChanges,
  sideOf,
} from './views.ts'

export interface TakenBack {
  readonly revision: number
  readonly live: WentLive
  /** The failure of a part of the machine that could not follow yet; it is tried again. */
  readonly failed: PlanFailure | undefined
}

/**
 * Returns the apply that waits for confirmation; refuses if none waits, or if the caller could not have made its
 * changes.
 */
export function requireWaiting(
  store: Pick<ConfigStore, 'unconfirmed' | 'revisions' | 'revision' | 'agreed'>,
  may: May | undefined,
  next: string,
): Unconfirmed {
  const unconfirmed = store.unconfirmed()
  if (unconfirmed === undefined) throw new ApiError('NOT_FOUND', 'No apply waits for a confirmation')
  if (may !== undefined) refuseForeign(judgedAs(lastMade(store)), may, next, () => configView(store.agreed))
  return unconfirmed
}

/** Thrown if the machine went back before the log could record it, for lack of a quorum. */
export class WentBackAlone extends Error {}

/**
 * Takes the last revision back, as a new revision. Running is the old configuration from that moment; the machine
 * follows driver by driver, as at a start, so that a driver that fails does not stop the others. Resolves with
 * undefined if another node was first to take it back, or to keep it.
 *
 * `alone`: at the deadline, if there is no quorum, the apply may be what cut this node off. `may`: then the machine
 * goes back without the log, and follows the log once that can be read again; `went`: it has already done so.
 *
 * @throws {WentBackAlone} if the machine goes back without the log.
 */
export async function takeBack(
  parts: ApplyParts,
  enactor: Enactor,
  header: RevisionHeader,
  alone: 'may' | 'went' | 'not' = 'not',
): Promise<TakenBack | undefined> {
  const { store, drivers, log, tell, onPromoted } = parts
  const waits = store.unconfirmed()?.applyId
  const made = lastMade(store)
  const reversed = () => reverseChanges(store.agreed, made)
  const planned = reversed()
  const desired = frozenView(store.running, planned)
  await prepare(drivers, desired)
  const done = alone === 'went' ? undefined : await enactor.openReturn(desired, header, sideOf(planned, 'before'))
  // Nothing is lost: the author can correct the changes and apply them again.
  const promoting = store.edit(() => {
    if (store.unconfirmed()?.applyId !== waits) return { result: undefined }
    // Users may have changed their own account since: that stays.
    const changes = reversed()
    const again = pendingAgain(store.agreed, made)
    return { result: changes, entry: { op: 'promote', header, changes, keepsJournal: true, again } }
  })
  const frozen = await promoting.catch(async (error: unknown) => {
    if (alone !== 'may' || !(error instanceof ApiError && error.code === 'NO_QUORUM')) throw error
    await enactor.returnAlone(desired, header, sideOf(planned, 'after'))
    await done?.()
    throw new WentBackAlone(error.message)
  })
  if (frozen === undefined) {
    if (alone === 'went') await enactor.converge(() => false)
    else await store.closeJournal(header.applyId)
    return undefined
  }
  await onPromoted(frozen.map(recordChange))
  const { revision, by, comment } = header
  log.info('reverted', { revision, by, changes: frozen.length })
  tell({ state: 'reverted', by, revision, comment, changes: frozen.length })
  const followed = await enactor.converge(() => false)
  await done?.()
  const live = wentLive(
    revision,
    frozen.map((change) => ({ ...change, actor: by })),
  )
  return { revision, live, failed: followed.ok ? undefined : followed }
}
