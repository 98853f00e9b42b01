import { join } from 'node:path'
import type { Machine } from '../machine/machine.ts'
import { ObservedNames } from '../observe/observed-names.ts'
import type { Settings } from '../settings.ts'
import type { Layer7StatsOptions } from '../stats/layer7-stats.ts'
import type { ObjectNames } from '../stats/names.ts'

/**
 * Returns the source of the figures, and the names of their objects: from the configuration, or from the observed
 * HAProxy.
 */
export function figuresOf(
  { observe, state }: Pick<Settings, 'observe' | 'state'>,
  { masterSocket, statsSocket }: Pick<Machine, 'masterSocket' | 'statsSocket'>,
  running: ObjectNames,
): Pick<Layer7StatsOptions, 'archive' | 'names' | 'observer'> {
  const directory = join(state, 'archive')
  if (observe !== undefined) {
    const observer = new ObservedNames()
    return { archive: { directory, source: { kind: 'any-socket', ...observe } }, names: observer, observer }
  }
  if (masterSocket === undefined) throw new Error('a machine without a master socket cannot be queried')
  const source = { kind: 'master-socket', path: masterSocket, statsSocket } as const
  return { archive: { directory, source }, names: running }
}
