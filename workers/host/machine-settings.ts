import type { RunResult, Setting } from '../../src/drivers/host.ts'
import type { Run } from './managed-program.ts'

/** The value now; undefined when this machine has no such setting. */
export async function readSetting(setting: Setting, _run: Run): Promise<string | undefined> {
  throw new Error(`${setting.kind} is not read yet`)
}

export async function writeSetting(
  setting: Setting,
  _value: string,
  _run: Run,
  _timeout_ms: number,
): Promise<RunResult> {
  throw new Error(`${setting.kind} is not written yet`)
}
