import type { Host } from '../../src/drivers/host.ts'
import type { HostSettings } from './host-settings.ts'
import { KeyValueFile } from './key-value-file.ts'
import { LinuxHost } from './linux-host.ts'
import { RecordingHost } from './recording-host.ts'
import { TrialHost } from './trial-host.ts'

export function createHost(settings: HostSettings): Host {
  const { profile, stateFolder, layer7proxy } = settings
  const real = new LinuxHost(settings, `${stateFolder}/machine`)
  if (profile === 'appliance') return real
  const programs = layer7proxy.mode === 'supervised' ? [layer7proxy.program] : []
  return new TrialHost(
    real,
    new RecordingHost({ base: real, memory: new KeyValueFile(`${stateFolder}/machine/recorded.json`) }),
    stateFolder,
    programs,
  )
}
