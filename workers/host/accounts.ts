import type { AccountChange, RunResult } from '../../src/drivers/host.ts'
import type { Run } from './managed-program.ts'

export async function changeAccount(_change: AccountChange, _run: Run, _timeout_ms: number): Promise<RunResult> {
  throw new Error('accounts are not changed yet')
}

/** Whether the account can log in; undefined when that cannot be read. */
export async function hasLoginShell(_account: AccountChange['account']): Promise<boolean | undefined> {
  return undefined
}
