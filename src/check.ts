import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { checkArchiveDirectory } from '../storage/archive/check.ts'
import { LmdbConfigStore } from '../storage/config/lmdb-config-store.ts'
import { checkConfig } from './config/check.ts'
import { newId } from './ids.ts'

/** Verifies both stores of a state folder that no daemon uses; [] when they are whole. */
export async function checkState(stateFolder: string): Promise<readonly string[]> {
  if (!existsSync(join(stateFolder, 'config'))) return [`there are no stores in ${stateFolder}`]
  const store = new LmdbConfigStore(join(stateFolder, 'config'), newId)
  try {
    return [...checkConfig(store), ...(await checkArchiveDirectory(join(stateFolder, 'archive')))]
  } finally {
    await store.close()
  }
}
