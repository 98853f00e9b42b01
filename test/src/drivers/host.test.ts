import t from 'tap'
import { type Setting, settingKey } from '../../../src/drivers/host.ts'

t.test('each setting has its own name, under which its original value is stored', async (test) => {
  const settings: readonly Setting[] = [
    { kind: 'sysctl', key: 'net.netfilter.nf_conntrack_max' },
    { kind: 'sysctl', key: 'net.netfilter.nf_conntrack_udp_timeout' },
    { kind: 'kernelModule', name: 'nf_conntrack' },
    { kind: 'timezone' },
    { kind: 'ipvsTimeouts' },
    { kind: 'unitEnabled', unit: 'ntp' },
    { kind: 'unitEnabled', unit: 'ssh' },
  ]
  test.same(settings.map(settingKey), [
    'sysctl net.netfilter.nf_conntrack_max',
    'sysctl net.netfilter.nf_conntrack_udp_timeout',
    'kernelModule nf_conntrack',
    'timezone',
    'ipvsTimeouts',
    'unitEnabled ntp',
    'unitEnabled ssh',
  ])
})
