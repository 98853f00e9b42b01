import {
  type ArchiveDatabases,
  META_SCHEMA,
  newTailPlace,
  openArchiveDatabases,
  readTailPlace,
  SCHEMA_VERSION,
  writeTailPlace,
} from './databases.ts'
import { damageText } from './damage.ts'
import { keyFirst, keySecond, makeKey } from './layout.ts'
import { readCatalog } from './reader.ts'
import { damageOf, readProgress, writeTail } from './recover.ts'
import { blockOf } from './tail.ts'
import { NO_TAIL, readTail, removeTail } from './tail-file.ts'
import { closeEnvironment } from '../env.ts'

/**
 * Removes the damaged rows of an archive that no process has open, in one transaction, and returns where they were, one
 * text per table. The contents of a damaged chunk become unknown; the counters of a damaged baseline begin again with
 * the next poll. Chunks of an object that the catalog lost are removed as well: it cannot be queried, and its number is
 * never reused.
 */
export async function repairArchive(directory: string): Promise<readonly string[]> {
  const databases = openArchiveDatabases(directory)
  const { environment, catalog, meta, formerBaseline, formerTail, tiers } = databases
  try {
    const places: string[] = []
    const tell = (some: readonly string[], more = '') => {
      const text = damageText(some)
      if (text !== undefined) places.push(`${text}${more}`)
    }
    environment.transactionSync(() => {
      for (const rows of [catalog, meta, formerBaseline, formerTail]) tell(rows.mend('remove'))
      for (const rows of tiers) tell(rows.mend('mark'))
      tell(removeOrphans(databases), ', which the catalog lost')
    })
    tell(mendTail(databases))
    return places
  } finally {
    await closeEnvironment(environment)
  }
}

/** Inside a transaction. */
function removeOrphans({ catalog, tiers }: ArchiveDatabases): readonly string[] {
  const ids = new Set(readCatalog({ catalog }).map(({ id }) => id))
  const orphans = new Set<number>()
  for (const rows of tiers) {
    for (const key of [...rows.getKeys()].filter((one) => !ids.has(keySecond(one)))) {
      orphans.add(keySecond(key))
      rows.removeSync(key)
    }
  }
  return [...orphans].map((id) => `what was stored of object ${id}`)
}

/** Copies the intact part of the crash tail to the other pair of files, which replaces it in one transaction. */
function mendTail(databases: ArchiveDatabases): readonly string[] {
  const { directory, environment, schema } = databases
  if (keyFirst(schema.get(META_SCHEMA) ?? makeKey(0, 0)) !== SCHEMA_VERSION) return []
  const place = readTailPlace(databases)
  const tail = place === undefined ? NO_TAIL : readTail(directory, place)
  const { stored_s, hwm_s, sampled_s } = readProgress(databases, tail)
  const damaged = place === undefined ? ['tail'] : damageOf(tail, stored_s)
  const blocks = new Set(readCatalog(databases).map(({ id }) => blockOf(id)))
  let hasOrphans = false
  const records = tail.records.map(({ to_s, sampled_s: read_s, parts }) => {
    const all = [...parts()]
    const known = all.filter(({ block }) => blocks.has(block))
    hasOrphans ||= known.length < all.length
    return { to_s, sampled_s: read_s, parts: known }
  })
  if (damaged.length === 0 && !hasOrphans) return []
  const next = newTailPlace(databases)
  writeTail(databases, next, [...records, { to_s: hwm_s, sampled_s, parts: [] }])
  environment.transactionSync(() => writeTailPlace(databases, next))
  removeTail(directory, 1 - next.pair)
  return damaged
}
