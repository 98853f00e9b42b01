import { existsSync } from 'node:fs'
import type { RunResult } from '../../../src/drivers/host.ts'
import type { Run } from '../managed-program.ts'

const QUERY_TIMEOUT_MS = 10_000
const UNCONFINED = { isUnconfined: true } as const
/** Exists only if the kernel has IPVS loaded: ipvsadm would load the module just to read the timeouts. */
const IPVS = '/proc/net/ip_vs'

/** Reads "Timeout (tcp tcpfin udp): 900 120 300" as "900 120 300". */
export function parseTimeouts(output: string): string | undefined {
  return /^Timeout \(tcp tcpfin udp\): (\d+ \d+ \d+)\s*$/m.exec(output)?.[1]
}

export async function readIpvsTimeouts(run: Run, table = IPVS): Promise<string | undefined> {
  if (!existsSync(table)) return undefined
  const { exitCode, output } = await run(['ipvsadm', '-L', '--timeout'], QUERY_TIMEOUT_MS, UNCONFINED)
  return exitCode === 0 ? parseTimeouts(output) : undefined
}

export function writeIpvsTimeouts(value: string, run: Run, timeout_ms: number): Promise<RunResult> {
  return run(['ipvsadm', '--set', ...value.split(' ')], timeout_ms, UNCONFINED)
}
