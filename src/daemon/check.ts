import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { checkArchiveDirectory } from '../../storage/archive/check.ts'
import { checkAudit } from '../../storage/audit/check.ts'
import { brokenFile } from '../../storage/file-check.ts'
import { LmdbConfigStore } from '../../storage/config/lmdb-config-store.ts'
import { auditFolder, knownHead } from '../audit/audit.ts'
import { checkConfig } from '../config/check.ts'
import { refuseNewerState } from '../appliance/opened-store.ts'
import { configDamage } from './repair.ts'
import { LAYER4_ARCHIVE } from '../stats/layer4-stats.ts'
import { VERSION } from '../base/version.ts'

/** Verifies the stores of a state folder that no daemon uses; returns [] when they are intact. */
export async function checkState(stateFolder: string): Promise<readonly string[]> {
  const isThere = (name: string) => existsSync(join(stateFolder, name, 'data.mdb'))
  if (!isThere('config')) return [`there are no stores in ${stateFolder}`]
  const files = ['config', 'archive', LAYER4_ARCHIVE].flatMap((name) => brokenFile(join(stateFolder, name)) ?? [])
  // A broken file would make LMDB end the process, and with damaged records the store refuses to open.
  const damage = files.length > 0 ? files : await configDamage(stateFolder)
  if (damage.length > 0) return damage
  const store = new LmdbConfigStore(join(stateFolder, 'config'))
  try {
    refuseNewerState(store, VERSION)
    const archive = isThere('archive')
      ? await checkArchiveDirectory(join(stateFolder, 'archive'))
      : [`there is no archive in ${stateFolder}`]
    // Missing in folders of versions before Layer 4, and of a daemon that only watches a HAProxy.
    const layer4 = isThere(LAYER4_ARCHIVE) ? await checkArchiveDirectory(join(stateFolder, LAYER4_ARCHIVE)) : []
    const audit = checkAudit(auditFolder(stateFolder), knownHead(store))
    return [...checkConfig(store), ...audit, ...archive, ...layer4.map((problem) => `Layer 4: ${problem}`)]
  } finally {
    await store.close()
  }
}
