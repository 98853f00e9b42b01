import type { Change } from '../../storage/config/config-store.ts'
import type { WentLive } from '../context/applying.ts'
import { namedChange } from './shown-change.ts'
import { recordChange } from './views.ts'

/** An entry of the audit log stays small; the revision has all of them. */
const TOLD_MAX = 20
const TEXT_MAX = 120

/** What an apply made live, each record with who changed it, the last one first. */
export function wentLive(revision: number, changes: readonly Change[]): WentLive {
  const told = changes.slice(0, TOLD_MAX).map((change) => {
    const { name, ...what } = namedChange(recordChange(change))
    const by = [change.actor, ...(change.others ?? [])].join(', ')
    return { ...what, name: name.slice(0, TEXT_MAX), by: by.slice(0, TEXT_MAX) }
  })
  return { revision, told, more: changes.length - told.length }
}
