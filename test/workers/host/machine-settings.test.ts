import t from 'tap'
import type { Setting } from '../../../src/drivers/host.ts'
import { readSetting, writeSetting } from '../../../workers/host/machine-settings.ts'
import type { Run } from '../../../workers/host/managed-program.ts'

/** Nothing is really run: each kind must find its own way to read and to write. */
function recorder() {
  const ran: string[] = []
  const run: Run = async (argv) => {
    ran.push(argv.slice(0, 2).join(' '))
    return { exitCode: 1, output: '' }
  }
  return { ran, run }
}

t.test('every kind of setting is read, and reading changes nothing', async (test) => {
  const { ran, run } = recorder()
  test.equal(await readSetting({ kind: 'sysctl', key: 'kernel.ostype' }, run), 'Linux')
  test.equal(await readSetting({ kind: 'kernelModule', name: 'no_such_module' }, run), undefined)
  test.match(await readSetting({ kind: 'timezone' }, run), /^\w/)
  test.equal(await readSetting({ kind: 'unitEnabled', unit: 'ntp' }, run), undefined)
  await readSetting({ kind: 'ipvsTimeouts' }, run)
  test.match(ran.slice(0, 2), ['modprobe --dry-run', 'systemctl show'])
})

t.test('every kind of setting is written by its own program', async (test) => {
  const { ran, run } = recorder()
  const values: readonly (readonly [Setting, string])[] = [
    [{ kind: 'sysctl', key: 'net.netfilter.nf_conntrack_max' }, '1'],
    [{ kind: 'kernelModule', name: 'nf_conntrack' }, 'loaded'],
    [{ kind: 'ipvsTimeouts' }, '1 2 3'],
    [{ kind: 'unitEnabled', unit: 'ntp' }, 'enabled'],
  ]
  for (const [setting, value] of values) test.equal((await writeSetting(setting, value, run, 1000)).exitCode, 1)
  test.same(ran, ['sysctl -q', 'modprobe nf_conntrack', 'ipvsadm --set', 'systemctl enable'])
  const refused = await writeSetting({ kind: 'timezone' }, 'no zone', run, 1000)
  test.match(refused, { exitCode: 1, output: /not a time zone/ })
})
