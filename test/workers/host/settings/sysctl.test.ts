import { readFileSync } from 'node:fs'
import t from 'tap'
import type { Run } from '../../../../workers/host/managed-program.ts'
import { readSysctl, sysctlPath, writeSysctl } from '../../../../workers/host/settings/sysctl.ts'

t.test('a value is read where the kernel shows it', async (test) => {
  test.equal(sysctlPath('net.netfilter.nf_conntrack_max'), '/proc/sys/net/netfilter/nf_conntrack_max')
  test.equal(await readSysctl('kernel.ostype'), readFileSync('/proc/sys/kernel/ostype', 'utf8').trim())
  test.equal(await readSysctl('net.netfilter.no_such_value'), undefined)
  for (const key of ['', 'kernel', '../etc/passwd', 'kernel/ostype', 'a.b=c', '-w.a b'])
    test.throws(() => sysctlPath(key), key)
})

t.test('a value is written outside the confinement, which forbids it', async (test) => {
  const ran: unknown[] = []
  const run: Run = async (...args) => {
    ran.push(args)
    return { exitCode: 0, output: '' }
  }
  await writeSysctl('net.netfilter.nf_conntrack_max', '4096', run, 5000)
  test.same(ran, [[['sysctl', '-q', '-w', 'net.netfilter.nf_conntrack_max=4096'], 5000, { isUnconfined: true }]])
})
