import type { SharedStore } from '../../storage/config/shared-store.ts'
import { VERSION } from '../base/version.ts'
import { FIRST_LEVEL, LEVEL } from '../cluster/levels.ts'
import type { Members } from './members.ts'

type Known = Pick<Members, 'all' | 'get' | 'level' | 'change'>

/** Level of the node that knows the fewest kinds of entries. */
const lowest = (members: Known) => Math.min(...members.all().map(({ level = FIRST_LEVEL }) => level))

/**
 * Tells the others of which version this node is and what it knows, and lets new kinds of entries in when it is the
 * last that was waited for.
 */
export async function raiseLevel(store: Pick<SharedStore, 'edit'>, members: Known, self: string): Promise<void> {
  const own = members.get(self)
  if (own === undefined) return
  if (own.level !== LEVEL || own.version !== VERSION)
    await members.change(self, (member) => ({ ...member, level: LEVEL, version: VERSION }))
  const isDue = () => Math.min(lowest(members), LEVEL) > members.level
  if (!isDue()) return
  await store.edit(() => {
    const level = Math.min(lowest(members), LEVEL)
    return isDue() ? { result: undefined, entry: { op: 'level', level } } : { result: undefined }
  })
}
