import { nameBasedId } from '../base/ids.ts'

const id = nameBasedId('local root')

/**
 * A caller on the daemon's own socket, which the system opens only for root and the account that the daemon runs as.
 * Both hold its files and its keys already, so they may do what administrators may; they have no account here.
 */
export const LOCAL_ROOT = { userId: id, sessionId: id, email: 'local root', address: 'local' } as const
