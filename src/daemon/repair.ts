import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { repairArchive } from '../../storage/archive/repair.ts'
import { damageOf, repairConfig } from '../../storage/config/repair.ts'
import { assertWholeFile } from '../../storage/file-check.ts'
import { ConfigTables } from '../../storage/config/tables.ts'
import { LAYER4_ARCHIVE } from '../stats/layer4-stats.ts'

/**
 * Returns the damaged records in the configuration of a state folder that no daemon uses, as sentences; [] when there
 * are none.
 */
export function configDamage(stateFolder: string): Promise<readonly string[]> {
  return withTables(stateFolder, damageOf)
}

/**
 * Repairs the stores of a state folder that no daemon uses. Returns the repairs as sentences; [] when all was intact.
 */
export async function repairState(stateFolder: string): Promise<readonly string[]> {
  const done = [...(await withTables(stateFolder, repairConfig))]
  for (const name of ['archive', LAYER4_ARCHIVE]) {
    const directory = join(stateFolder, name)
    if (!existsSync(join(directory, 'data.mdb'))) continue
    // Writing to a broken tree of pages damages more of it, or ends the process with a signal.
    assertWholeFile(directory, { everyPage: true })
    for (const place of await repairArchive(directory)) done.push(`${name}: ${place}: damaged, now recorded as unknown`)
  }
  return done
}

async function withTables<T>(stateFolder: string, work: (tables: ConfigTables) => T): Promise<T> {
  const tables = new ConfigTables(join(stateFolder, 'config'))
  try {
    return work(tables)
  } finally {
    await tables.close()
  }
}
