import type { ConfigStore, RevisionHeader } from '../../../storage/config/config-store.ts'
import { ApiError } from '../../base/errors.ts'
import type { OtherNodes } from './other-nodes.ts'

/** `open`: neither a promotion nor a thaw has been folded here yet. */
export type Decision = 'open' | 'promoted' | 'thawed'

/** Returns what the log has said so far about an apply that was frozen here. */
export function decisionOn(
  store: Pick<ConfigStore, 'frozen' | 'revisionHeaders' | 'isAheadBy'>,
  { applyId, revision }: Pick<RevisionHeader, 'applyId' | 'revision'>,
): Decision {
  if (store.frozen(applyId) !== undefined) return 'open'
  const [made] = store.revisionHeaders(1, revision + 1)
  return made?.applyId === applyId || store.isAheadBy(applyId) ? 'promoted' : 'thawed'
}

/**
 * Records that an apply has come to nothing, unless it has ended: if two nodes do so, or one does and another promotes,
 * the first entry wins.
 */
export function thaw(store: Pick<ConfigStore, 'edit' | 'frozen'>, applyId: string): Promise<void> {
  return store.edit(() => {
    const entry = store.frozen(applyId) === undefined ? undefined : ({ op: 'thaw', applyId } as const)
    return { result: undefined, entry }
  })
}

/** Refuses while nodes of the cluster are in the middle of an apply. */
export function refuseUnderWay(
  store: Pick<ConfigStore, 'underWay'>,
  others: Pick<OtherNodes, 'members'> | undefined,
): void {
  const asked = store.underWay()?.asked
  if (asked === undefined) return
  const { nodeId, header } = asked
  const name = others?.members().find(({ id }) => id === nodeId)?.name ?? 'this node'
  throw new ApiError(
    'APPLY_IN_PROGRESS',
    `Another apply is running, by ${header.by} on ${name}; try again in a second`,
    {
      headers: { 'Retry-After': '1' },
      data: { nodeId },
    },
  )
}
