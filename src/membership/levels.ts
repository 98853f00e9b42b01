import type { SharedStore } from '../../storage/config/shared-store.ts'
import { VERSION } from '../base/version.ts'
import { FIRST_LEVEL, LEVEL } from '../cluster/levels.ts'
import type { Members } from './members.ts'

type Known = Pick<Members, 'all' | 'get' | 'level' | 'change'>

/** Returns the lowest level of all nodes. */
const lowest = (members: Known) => Math.min(...members.all().map(({ level = FIRST_LEVEL }) => level))

/**
 * Announces this node's version and level, and permits new kinds of entries if this node was the last to support them.
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
