import type { LevelEntry, PutEntry, Takeover, TakeoverEntry } from './entry.ts'

/** Entries about the cluster itself, as rows of the members' table, so that checkpoints and digests include them. */

export const TAKEOVER_ROW = 'takeover/'
export const LEVEL_ROW = 'level'

const EPOCH_DIGITS = 9

/** Key of a takeover's row; keys sort like epochs. */
export const takeoverKey = (epoch: number): string => `${TAKEOVER_ROW}${String(epoch).padStart(EPOCH_DIGITS, '0')}`

/** Epoch in which a cluster begins. */
export const FIRST_EPOCH = 1
/**
 * Name of the history that begins with a takeover, or with the cluster. It has an id because two nodes may take over at
 * the same time.
 */
export const historyOf = (takeover: Pick<Takeover, 'epoch' | 'id'> | undefined): string =>
  takeover === undefined ? `${FIRST_EPOCH}` : `${takeover.epoch}:${takeover.id}`

export function clusterRow(entry: TakeoverEntry | LevelEntry): PutEntry {
  const row =
    entry.op === 'level'
      ? { key: LEVEL_ROW, value: { level: entry.level } }
      : { key: takeoverKey(entry.takeover.epoch), value: entry.takeover }
  return { op: 'put', table: 'members', puts: [row], removed: [] }
}
