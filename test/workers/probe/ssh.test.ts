import t from 'tap'
import type { RunResult, UnitState } from '../../../src/drivers/host.ts'
import { readSsh } from '../../../workers/probe/ssh.ts'

const facts = (result: RunResult, enabled: string | undefined, state: UnitState = 'stopped') =>
  readSsh({ readSetting: async () => enabled, unitState: async () => state }, async (argv) => {
    t.strictSame(argv, ['/usr/sbin/sshd', '-T'], 'only reads')
    return result
  })

t.test('sshd as the machine has it', async (t) => {
  const said = { exitCode: 0, output: 'port 2200\naddressfamily any\nlistenaddress [::]:2200\nport 22' }
  t.strictSame(await facts(said, 'enabled'), { enabled: true, port: 2200 }, 'the first of its ports')
  t.strictSame(await facts(said, 'disabled'), { enabled: false, port: 2200 })
  t.strictSame(await facts(said, undefined), { enabled: false, port: 2200 }, 'installed without a unit')
  t.strictSame(
    await facts(said, 'disabled', 'running'),
    { enabled: true, port: 2200 },
    'it runs, although no boot starts it',
  )
})

t.test('not installed', async (t) => {
  t.strictSame(await facts({ exitCode: 127, output: 'sshd is not installed' }, undefined), {
    enabled: undefined,
    port: undefined,
  })
})

t.test('an sshd that rejects its own configuration has no port', async (t) => {
  const failed = { exitCode: 255, output: 'sshd_config line 1: port 22x' }
  t.strictSame(await facts(failed, 'disabled'), { enabled: false, port: undefined })
  t.strictSame(await facts({ exitCode: 0, output: '' }, 'enabled'), { enabled: true, port: undefined })
})
