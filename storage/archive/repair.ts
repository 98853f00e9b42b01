import { openArchiveDatabases } from './databases.ts'

/**
 * Takes out what cannot be believed of an archive that nobody has open, in one transaction, and answers where that was. What a
 * damaged chunk held is unknown from then on; the counters of a damaged baseline begin anew with the next poll.
 */
export async function repairArchive(directory: string): Promise<readonly string[]> {
  const databases = openArchiveDatabases(directory)
  const { environment, catalog, meta, baseline, tail, tiers } = databases
  try {
    const places: string[] = []
    environment.transactionSync(() => {
      for (const rows of [catalog, meta, baseline, tail]) places.push(...rows.mend('remove'))
      for (const rows of tiers) places.push(...rows.mend('mark'))
    })
    return places
  } finally {
    await environment.close()
  }
}
