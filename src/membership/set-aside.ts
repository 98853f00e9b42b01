import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Entry, Takeover } from '../../storage/config/entry.ts'
import type { StoreState } from '../../storage/config/store-state.ts'
import { replaceFile } from '../base/replaced-file.ts'
import type { EntriesBehind } from '../cluster/entries-behind.ts'

/**
 * What a node has that is in no history that goes on. Nobody merges it: a person looks at it and does again what is
 * still wanted. Passwords and keys are in it, as in the store, so it is for its owner only.
 */
export interface SetAside extends EntriesBehind {
  readonly clusterId: string
  readonly nodeId: string
  /** ISO 8601. */
  readonly at: string
  /** Number of the last entry that the other history has as well. */
  readonly since: number
  readonly takeovers: readonly Takeover[]
  /** All that this node had. */
  readonly state: StoreState
}

const FOLDER = 'set-aside'

/** Answers where it is. */
export async function setAside(stateFolder: string, what: SetAside): Promise<string> {
  const folder = join(stateFolder, FOLDER)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, `history-${what.at.replaceAll(/[-:.]/g, '')}.json`)
  await replaceFile(path, JSON.stringify(what, undefined, 1))
  return path
}

/** Tables whose rows people or programs were answered; the others are of logins, and of nodes about themselves. */
const CONFIGURED: ReadonlySet<string> = new Set(['apiTokens', 'joinTokens'])
const OF_THE_CLUSTER: ReadonlySet<Entry['op']> = new Set(['takeover', 'level', 'compare'])

/** Whether something would be lost with this entry that somebody wanted. */
export const isConfiguration = (entry: Entry): boolean =>
  entry.op === 'put' ? CONFIGURED.has(entry.table) : !OF_THE_CLUSTER.has(entry.op)
