import type { RunStep } from '../driver.ts'
import { forwardingFlag, placeText, serviceWords } from './fallback.ts'
import { WEIGHTS_FOLDER } from './paths.ts'
import type { Served } from './services.ts'
import { baseOf, weightFileName } from './weights.ts'

const TIMEOUT_MS = 20_000
/** keepalived calls the kernel once per real server; on an emulated machine beside another one that took 15 ms. */
const EACH_MS = 20

/** Returns how long it may take until this many real servers are read, or are in the kernel. */
const patienceFor = (reals: number): number => TIMEOUT_MS + reals * EACH_MS

/**
 * Waits until the kernel's table has the wanted weights, of the named files or of all. A real server that fails its
 * check is absent from the table, which is accepted.
 */
export function readBack(all: readonly Served[], changed: ReadonlyMap<string, string> | undefined): RunStep {
  const ends = all.flatMap((served) =>
    served.destinations
      .filter((one) => changed === undefined || changed.has(weightFileName(one, baseOf(one, served))))
      .flatMap(({ ip, port, share }) =>
        serviceWords(served).map(([flag, service]) => ({
          beginning: `-a ${flag} ${service}${familyWord(served)} -r ${placeText(ip, port)} `,
          end: share === 'halted' ? undefined : `${forwardingFlag(served)} -w ${share}${tunnelWords(served)}`,
        })),
      ),
  )
  const begins = all.flatMap((served) => serviceWords(served).map(([flag, service]) => `-A ${flag} ${service} `))
  return {
    kind: 'run',
    why: 'wait until the kernel balances as configured',
    timeout_ms: patienceFor(ends.length),
    argv: ['ipvsadm', '--save', '--numeric'],
    undo: 'irreversible',
    expect: { begins, ends },
  }
}

/** ipvsadm prints -6 for marks of IPv6, and the type of a tunnel. */
const familyWord = ({ frontend, marks }: Served): string => (marks.length > 0 && frontend.ip.includes(':') ? ' -6' : '')
const tunnelWords = ({ frontend }: Served): string => (frontend.forwarding === 'ipip' ? ' --tun-type ipip' : '')

/** Waits for the file that keepalived creates once it has read its configuration: systemctl only sends it a signal. */
export const loadedFile = (name: string, all: readonly Served[]): RunStep => ({
  kind: 'run',
  why: 'wait until keepalived has read its configuration',
  timeout_ms: patienceFor(all.reduce((sum, { destinations }) => sum + destinations.length, 0)),
  argv: ['find', WEIGHTS_FOLDER, '-name', name],
  undo: 'irreversible',
  expect: { comes: name, otherwise: 'keepalived did not read its configuration: see journalctl -u keepalived' },
})
