import type { RunResult } from '../../../src/drivers/host.ts'
import { readText } from '../durable-files.ts'
import type { Run } from '../managed-program.ts'

/** Returns the file in /proc/sys for a name. */
export function sysctlPath(key: string): string {
  if (!/^[\w-]+(\.[\w-]+)+$/.test(key)) throw new Error(`${key} is not the name of a kernel setting`)
  return `/proc/sys/${key.replaceAll('.', '/')}`
}

export async function readSysctl(key: string): Promise<string | undefined> {
  return (await readText(sysctlPath(key)))?.trim()
}

/** Runs a program, because the daemon's unit may not write below /proc/sys. */
export function writeSysctl(key: string, value: string, run: Run, timeout_ms: number): Promise<RunResult> {
  sysctlPath(key)
  return run(['sysctl', '-q', '-w', `${key}=${value}`], timeout_ms, { isUnconfined: true })
}
