import t from 'tap'
import { createHost } from '../../../workers/host/create-host.ts'
import { LinuxHost } from '../../../workers/host/linux-host.ts'
import { TrialHost } from '../../../workers/host/trial-host.ts'

t.test('the trial profile only touches its folder, the appliance everything', (t) => {
  const systemd = { mode: 'systemd', masterSocket: '/run/haproxy-master.sock' } as const
  const stateFolder = '/state'
  t.ok(createHost({ profile: 'trial', stateFolder, layer7proxy: systemd }) instanceof TrialHost)
  t.ok(createHost({ profile: 'appliance', stateFolder, layer7proxy: systemd }) instanceof LinuxHost)
  t.end()
})
