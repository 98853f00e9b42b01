import type { LevelEntry, PutEntry, Takeover, TakeoverEntry } from './entry.ts'

/** What entries tell of the cluster itself, as rows of the table of its members: so checkpoints and digests have it. */

export const TAKEOVER_ROW = 'takeover/'
export const LEVEL_ROW = 'level'

const EPOCH_DIGITS = 9

/** Keys sort as epochs do. */
export const takeoverKey = (epoch: number): string => `${TAKEOVER_ROW}${String(epoch).padStart(EPOCH_DIGITS, '0')}`

/** A cluster begins with this epoch. */
export const FIRST_EPOCH = 1
/** Name of the history that begins with a takeover, or with the cluster: two nodes may take over at the same time. */
export const historyOf = (takeover: Pick<Takeover, 'epoch' | 'id'> | undefined): string =>
  takeover === undefined ? `${FIRST_EPOCH}` : `${takeover.epoch}:${takeover.id}`

export function clusterRow(entry: TakeoverEntry | LevelEntry): PutEntry {
  const row =
    entry.op === 'level'
      ? { key: LEVEL_ROW, value: { level: entry.level } }
      : { key: takeoverKey(entry.takeover.epoch), value: entry.takeover }
  return { op: 'put', table: 'members', puts: [row], removed: [] }
}
