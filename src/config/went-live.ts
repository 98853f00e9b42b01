import type { Change } from '../../storage/config/config-store.ts'
import type { WentLive } from '../context/applying.ts'
import { namedChange } from './shown-change.ts'
import { recordChange } from './views.ts'

/** Limits the size of an audit entry; the revision lists all records. */
const TOLD_MAX = 20
const TEXT_MAX = 120

/** Returns what an apply made live: each record with the users who changed it, the last one first. */
export function wentLive(revision: number, changes: readonly Change[]): WentLive {
  const told = changes.slice(0, TOLD_MAX).map((change) => {
    const { name, ...what } = namedChange(recordChange(change))
    const by = [change.actor, ...(change.others ?? [])].join(', ')
    return { ...what, name: name.slice(0, TEXT_MAX), by: by.slice(0, TEXT_MAX) }
  })
  return { revision, told, more: changes.length - told.length }
}
