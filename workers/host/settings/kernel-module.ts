import { existsSync } from 'node:fs'
import type { RunResult } from '../../../src/drivers/host.ts'
import type { Run } from '../managed-program.ts'

const QUERY_TIMEOUT_MS = 10_000
const UNCONFINED = { isUnconfined: true } as const
const DONE: RunResult = { exitCode: 0, output: '' }

/**
 * Returns `absent` only when the module could be loaded: a kernel that has it built in without saying so needs nothing.
 */
export async function readModule(name: string, run: Run): Promise<string | undefined> {
  if (existsSync(`/sys/module/${name}`)) return 'loaded'
  const { exitCode } = await run(['modprobe', '--dry-run', '--quiet', name], QUERY_TIMEOUT_MS, UNCONFINED)
  return exitCode === 0 ? 'absent' : undefined
}

export async function writeModule(name: string, value: string, run: Run, timeout_ms: number): Promise<RunResult> {
  return value === 'loaded' ? run(['modprobe', name], timeout_ms, UNCONFINED) : DONE
}
