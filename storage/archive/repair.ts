import { type ArchiveDatabases, openArchiveDatabases } from './databases.ts'
import { keySecond } from './layout.ts'
import { readCatalog } from './reader.ts'
import { blockOf } from './tail.ts'

/**
 * Takes out what cannot be believed of an archive that nobody has open, in one transaction, and answers where that was.
 * What a damaged chunk held is unknown from then on; the counters of a damaged baseline begin anew with the next poll.
 * What belongs to an object that the catalog lost goes with it: nobody can ask for it, and its number is never given
 * again.
 */
export async function repairArchive(directory: string): Promise<readonly string[]> {
  const databases = openArchiveDatabases(directory)
  const { environment, catalog, meta, baseline, tail, tiers } = databases
  try {
    const places: string[] = []
    environment.transactionSync(() => {
      for (const rows of [catalog, meta, baseline, tail]) places.push(...rows.mend('remove'))
      for (const rows of tiers) places.push(...rows.mend('mark'))
      places.push(...removeOrphans(databases))
    })
    return places
  } finally {
    await environment.close()
  }
}

/** Inside a transaction. */
function removeOrphans(databases: ArchiveDatabases): readonly string[] {
  const { tail, tiers } = databases
  const ids = new Set(readCatalog(databases).map(({ id }) => id))
  const blocks = new Set([...ids].map(blockOf))
  const orphans = new Set<number>()
  for (const rows of tiers) {
    for (const key of [...rows.getKeys()].filter((one) => !ids.has(keySecond(one)))) {
      orphans.add(keySecond(key))
      rows.removeSync(key)
    }
  }
  for (const key of [...tail.getKeys()].filter((one) => !blocks.has(keySecond(one)))) tail.removeSync(key)
  return [...orphans].map((id) => `what was stored of object ${id}, which the catalog lost,`)
}
