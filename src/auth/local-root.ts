import { nameBasedId } from '../base/ids.ts'

const id = nameBasedId('local root')

/**
 * A caller on the daemon's own socket, which only root and the daemon's account can open. Both can read its files and
 * keys anyway, so they may do what administrators may; they have no account here.
 */
export const LOCAL_ROOT = { userId: id, sessionId: id, email: 'local root', address: 'local' } as const
