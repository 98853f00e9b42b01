import type { RunResult, Setting } from '../../src/drivers/host.ts'
import type { Run } from './managed-program.ts'
import { readIpvsTimeouts, writeIpvsTimeouts } from './settings/ipvs-timeouts.ts'
import { readModule, writeModule } from './settings/kernel-module.ts'
import { readSysctl, writeSysctl } from './settings/sysctl.ts'
import { readTimezone, writeTimezone } from './settings/timezone.ts'
import { readEnabled, writeEnabled } from './settings/unit-enabled.ts'

/** Returns the current value; undefined when this machine has no such setting. Changes nothing. */
export function readSetting(setting: Setting, run: Run): Promise<string | undefined> {
  switch (setting.kind) {
    case 'sysctl':
      return readSysctl(setting.key)
    case 'kernelModule':
      return readModule(setting.name, run)
    case 'timezone':
      return readTimezone()
    case 'ipvsTimeouts':
      return readIpvsTimeouts(run)
    default:
      return readEnabled(setting.unit, run)
  }
}

export function writeSetting(setting: Setting, value: string, run: Run, timeout_ms: number): Promise<RunResult> {
  switch (setting.kind) {
    case 'sysctl':
      return writeSysctl(setting.key, value, run, timeout_ms)
    case 'kernelModule':
      return writeModule(setting.name, value, run, timeout_ms)
    case 'timezone':
      return writeTimezone(value, run, timeout_ms)
    case 'ipvsTimeouts':
      return writeIpvsTimeouts(value, run, timeout_ms)
    default:
      return writeEnabled(setting.unit, value, run, timeout_ms)
  }
}
