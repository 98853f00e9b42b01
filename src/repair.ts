import { join } from 'node:path'
import { damageOf, repairConfig } from '../storage/config/repair.ts'
import { ConfigTables } from '../storage/config/tables.ts'

/** Damaged records of the configuration of a state folder that no daemon uses, as sentences; [] when there are none. */
export function configDamage(stateFolder: string): Promise<readonly string[]> {
  return withTables(stateFolder, damageOf)
}

/** Mends the stores of a state folder that no daemon uses. Answers what was done, as sentences; [] when all was whole. */
export function repairState(stateFolder: string): Promise<readonly string[]> {
  return withTables(stateFolder, repairConfig)
}

async function withTables<T>(stateFolder: string, work: (tables: ConfigTables) => T): Promise<T> {
  const tables = new ConfigTables(join(stateFolder, 'config'))
  try {
    return work(tables)
  } finally {
    await tables.close()
  }
}
