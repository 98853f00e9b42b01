import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Entry, Takeover } from '../../storage/config/entry.ts'
import type { StoreState } from '../../storage/config/store-state.ts'
import { replaceFile } from '../base/replaced-file.ts'
import type { EntriesBehind } from '../cluster/entries-behind.ts'

/**
 * The state of a node whose history has ended. Nothing merges it: a person reads it and repeats what is still wanted.
 * Like the store it contains passwords and keys, so only its owner may read it.
 */
export interface SetAside extends EntriesBehind {
  readonly clusterId: string
  readonly nodeId: string
  /** ISO 8601. */
  readonly at: string
  /** Number of the last entry that both histories have. */
  readonly since: number
  readonly takeovers: readonly Takeover[]
  /** The whole state of this node. */
  readonly state: StoreState
}

const FOLDER = 'set-aside'

/** Returns the path of the file. */
export async function setAside(stateFolder: string, what: SetAside): Promise<string> {
  const folder = join(stateFolder, FOLDER)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, `history-${what.at.replaceAll(/[-:.]/g, '')}.json`)
  await replaceFile(path, JSON.stringify(what, undefined, 1))
  return path
}

/** Tables whose rows people or programs have relied on; the others hold logins, and facts of nodes about themselves. */
const CONFIGURED: ReadonlySet<string> = new Set(['apiTokens', 'joinTokens'])
const OF_THE_CLUSTER: ReadonlySet<Entry['op']> = new Set(['takeover', 'level', 'compare'])

/** Whether losing this entry would lose a change that a user wanted. */
export const isConfiguration = (entry: Entry): boolean =>
  entry.op === 'put' ? CONFIGURED.has(entry.table) : !OF_THE_CLUSTER.has(entry.op)
