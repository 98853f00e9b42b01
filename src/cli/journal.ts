import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/**
 * All lines of the daemon and the units it starts; of other units only unusual lines, because the usual ones are
 * requests.
 */
const SAID = [
  ['--lines=3000', '--unit=fulcrum', '--unit=fulcrum-network', '--unit=fulcrum-etcd', '--unit=fulcrum-vrrp'],
  ['--lines=500', '--unit=haproxy', '--unit=keepalived', '--priority=notice'],
] as const
const COMMON = ['--no-pager', '--quiet', '--output=short-iso'] as const
const BOUNDS = { timeout: 30_000, maxBuffer: 32 * 1024 * 1024 }

/** Returns the last journal lines of Fulcrum's units on this machine; none if there are no such units. */
export async function journalHere(): Promise<readonly string[]> {
  const all = SAID.map(async (what) => {
    const { stdout } = await execute('journalctl', [...COMMON, ...what], BOUNDS)
    return stdout.split('\n').filter((line) => line !== '')
  })
  // There is no systemd, or this account may not read the journal.
  return (await Promise.all(all.map((lines) => lines.catch(() => [])))).flat()
}
