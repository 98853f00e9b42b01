import type { ConfigStore } from '../../storage/config/config-store.ts'

const RESTORED_NODES = 'restoredNodes'

export interface RestoredNode {
  readonly id: string
  readonly hostname: string
}

/** The nodes of the full backup that was restored here. */
interface Restored {
  /** Id of the node that this one became. */
  readonly nodeId: string
  readonly others: readonly RestoredNode[]
}

/** Stores them until the next restore: in a new cluster, other machines may take their places. */
export const noteRestored = (store: Pick<ConfigStore, 'putMeta'>, restored: Restored): Promise<void> =>
  store.putMeta(RESTORED_NODES, restored)

/**
 * Returns the other nodes of the backup from which this node was restored; none if the restore was never applied here.
 */
export function restoredWith(store: Pick<ConfigStore, 'getMeta'>, nodeId: string): readonly RestoredNode[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by noteRestored only
  const restored = store.getMeta(RESTORED_NODES) as Restored | undefined
  return restored?.nodeId === nodeId ? restored.others : []
}
