/** Runs inside a network namespace. Arguments: steps as JSON, and a folder that remembers the values found. */
import { readlinkSync } from 'node:fs'
import type { Step } from '../../src/drivers/driver.ts'
import type { RunResult, Setting } from '../../src/drivers/host.ts'
import { executePlan } from '../../workers/executor.ts'
import { KeyValueFile } from '../../workers/host/key-value-file.ts'
import { runProgram } from '../../workers/host/linux-host.ts'
import { readSetting, writeSetting } from '../../workers/host/machine-settings.ts'
import type { Run } from '../../workers/host/managed-program.ts'
import { RecordingHost } from '../../workers/host/recording-host.ts'

const [steps = '[]', folder = '', outside = ''] = process.argv.slice(2)
if (outside === '' || readlinkSync('/proc/self/ns/net') === outside)
  throw new Error('this is the network of the machine')

/** Never through the machine's service manager, which is outside the namespace. */
const inside: Run = (argv, timeout_ms) => runProgram(argv, timeout_ms)

/** Settings are real, everything else is recorded. */
class SettingsHost extends RecordingHost {
  override readonly found = new KeyValueFile(`${folder}/found.json`)
  override readSetting(setting: Setting): Promise<string | undefined> {
    return readSetting(setting, inside)
  }
  override writeSetting(setting: Setting, value: string): Promise<RunResult> {
    return writeSetting(setting, value, inside, 10_000)
  }
}

const plan: readonly Step[] = JSON.parse(steps)
process.stdout.write(JSON.stringify(await executePlan(new SettingsHost(), plan)))
