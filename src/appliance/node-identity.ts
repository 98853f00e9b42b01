import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ConfigStore } from '../../storage/config/config-store.ts'
import { newId } from '../base/ids.ts'

/**
 * Refuses a lost store: a new, empty one beside the keys of an old installation would silently start with a new
 * administrator.
 */
export function refuseLostStore(store: ConfigStore, stateFolder: string): void {
  if (store.getMeta('nodeId') !== undefined || !existsSync(join(stateFolder, 'token-key.pem'))) return
  throw new Error(
    `${join(stateFolder, 'config')} is empty, but ${stateFolder} was in use; restore it, or start in another folder`,
  )
}

/** Returns the id of this node. `inCluster`: its id in its cluster, where it may have replaced another node. */
export async function ensureNodeId(store: ConfigStore, inCluster?: string): Promise<string> {
  const known = store.getMeta('nodeId')
  if (typeof known === 'string' && (inCluster ?? known) === known) return known
  const nodeId = inCluster ?? newId()
  await store.putMeta('nodeId', nodeId)
  return nodeId
}
