import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/**
 * Everything from the daemon and what it starts; from others only what is unusual, because their usual lines are
 * requests.
 */
const SAID = [
  ['--lines=3000', '--unit=fulcrum', '--unit=fulcrum-network', '--unit=fulcrum-etcd', '--unit=fulcrum-vrrp'],
  ['--lines=500', '--unit=haproxy', '--unit=keepalived', '--priority=notice'],
] as const
const COMMON = ['--no-pager', '--quiet', '--output=short-iso'] as const
const BOUNDS = { timeout: 30_000, maxBuffer: 32 * 1024 * 1024 }

/** The last lines that units of Fulcrum have said on this machine; none where there are no such units. */
export async function journalHere(): Promise<readonly string[]> {
  const all = SAID.map(async (what) => {
    const { stdout } = await execute('journalctl', [...COMMON, ...what], BOUNDS)
    return stdout.split('\n').filter((line) => line !== '')
  })
  // No systemd, or a journal that this account may not read.
  return (await Promise.all(all.map((lines) => lines.catch(() => [])))).flat()
}
