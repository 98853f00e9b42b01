import type { ConfigStore } from '../../storage/config/config-store.ts'

const RESTORED_NODES = 'restoredNodes'

export interface RestoredNode {
  readonly id: string
  readonly hostname: string
}

/** What a whole backup that was restored here says of nodes. */
interface Restored {
  /** Id of the one that this node became. */
  readonly nodeId: string
  readonly others: readonly RestoredNode[]
}

/** Remembered until the next restore: in a new cluster, other machines may take their places. */
export const noteRestored = (store: Pick<ConfigStore, 'putMeta'>, restored: Restored): Promise<void> =>
  store.putMeta(RESTORED_NODES, restored)

/** The other nodes of the backup that made this node what it is; none when it is not, as nothing was applied. */
export function restoredWith(store: Pick<ConfigStore, 'getMeta'>, nodeId: string): readonly RestoredNode[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by noteRestored only
  const restored = store.getMeta(RESTORED_NODES) as Restored | undefined
  return restored?.nodeId === nodeId ? restored.others : []
}
