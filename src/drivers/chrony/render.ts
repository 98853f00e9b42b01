import { isHost } from '../../base/host-name.ts'
import { writtenHere } from '../fragment.ts'

/** Debian's own servers, for a configuration that names none. */
const DEFAULT_SOURCE = 'pool 2.debian.pool.ntp.org iburst'

/** Renders the whole chrony.conf. A text that is no host never gets a line. */
export function renderChrony(servers: readonly string[]): string {
  const named = [...new Set(servers)].filter(isHost).map((server) => `server ${server} iburst`)
  return writtenHere([
    ...(named.length === 0 ? [DEFAULT_SOURCE] : named),
    'driftfile /var/lib/chrony/chrony.drift',
    'logdir /var/log/chrony',
    'maxupdateskew 100.0',
    '# The kernel keeps the hardware clock in step.',
    'rtcsync',
    '# A wrong clock is set at once in the first three updates, and slewed afterwards.',
    'makestep 1 3',
  ])
}
