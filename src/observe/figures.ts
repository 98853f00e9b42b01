import type { Machine } from '../machine.ts'
import type { ObjectNames } from '../stats/names.ts'
import type { StatsOptions } from '../stats/stats.ts'
import type { SocketAddress } from './address.ts'
import { ObservedNames } from './observed-names.ts'

/** Where the figures come from, and who names what they are of: the configuration, or the HAProxy that is observed. */
export function figuresOf(
  observe: SocketAddress | undefined,
  { masterSocket, statsSocket }: Pick<Machine, 'masterSocket' | 'statsSocket'>,
  running: ObjectNames,
): Pick<StatsOptions, 'source' | 'names' | 'observer'> {
  if (observe !== undefined) {
    const observer = new ObservedNames()
    return { source: { kind: 'any-socket', ...observe }, names: observer, observer }
  }
  if (masterSocket === undefined) throw new Error('a machine without a master socket has nothing to ask')
  return { source: { kind: 'master-socket', path: masterSocket, statsSocket }, names: running }
}
