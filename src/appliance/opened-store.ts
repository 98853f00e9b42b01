import { join } from 'node:path'
import type { ConfigStore } from '../../storage/config/config-store.ts'
import { LmdbConfigStore } from '../../storage/config/lmdb-config-store.ts'
import type { Log } from '../base/log.ts'
import { refuseLostStore } from './node-identity.ts'
import { VERSION } from '../base/version.ts'

const KEY = 'version'

/** Opens the configuration of a state folder, after checking that this daemon may continue with it. */
export async function openStore(stateFolder: string, log: Pick<Log, 'error'>): Promise<LmdbConfigStore> {
  const store = new LmdbConfigStore(join(stateFolder, 'config'))
  refuseLostStore(store, stateFolder)
  await adoptState(store, VERSION)
  for (const problem of store.damaged) log.error('a damaged record was skipped', { problem })
  return store
}

/**
 * Refuses a state folder that a newer version has written, whose unknown data would be dropped or misread. Otherwise
 * records this version.
 */
export async function adoptState(store: Pick<ConfigStore, 'getMeta' | 'putMeta'>, version: string): Promise<void> {
  refuseNewerState(store, version)
  if (store.getMeta(KEY) !== version) await store.putMeta(KEY, version)
}

export function refuseNewerState(store: Pick<ConfigStore, 'getMeta'>, version: string): void {
  const written = store.getMeta(KEY)
  if (typeof written !== 'string' || !isNewer(written, version)) return
  throw new Error(
    `the state was written by version ${written}, but this is ${version}: install ${written} or newer, or restore a backup of ${version} in an empty state folder`,
  )
}

/** Compares the three numbers of a version. */
function isNewer(left: string, right: string): boolean {
  const [a, b] = [left, right].map((version) => version.split(/[.+-]/).slice(0, 3).map(Number))
  for (const [at, part] of (a ?? []).entries()) {
    const difference = part - (b?.[at] ?? 0)
    if (difference !== 0) return difference > 0
  }
  return false
}
