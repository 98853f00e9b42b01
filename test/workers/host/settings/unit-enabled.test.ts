import t from 'tap'
import type { Run } from '../../../../workers/host/managed-program.ts'
import { parseEnabled, readEnabled, writeEnabled } from '../../../../workers/host/settings/unit-enabled.ts'

const shown = (load: string, file: string, active: string) =>
  `LoadState=${load}\nActiveState=${active}\nUnitFileState=${file}\n`

t.test('enabled covers the next boot and now; mixed states keep both parts', async (test) => {
  for (const [load, file, active, state] of [
    ['loaded', 'enabled', 'active', 'enabled'],
    ['loaded', 'enabled', 'reloading', 'enabled'],
    ['loaded', 'enabled', 'inactive', 'enabled stopped'],
    ['loaded', 'enabled', 'failed', 'enabled stopped'],
    ['loaded', 'disabled', 'active', 'disabled running'],
    ['loaded', 'disabled', 'inactive', 'disabled'],
    ['loaded', 'disabled', 'failed', 'disabled'],
    ['not-found', '', 'inactive', undefined],
    ['masked', 'masked', 'inactive', undefined],
  ] as const) {
    test.equal(parseEnabled(shown(load, file, active)), state, `${load} ${file} ${active}`)
  }
  test.equal(parseEnabled(''), undefined)
})

t.test('each state is read from its own unit and written with the commands that produce it', async (test) => {
  const ran: string[] = []
  const run: Run = async (argv, _, options) => {
    ran.push(`${argv.join(' ')}${options?.isUnconfined === true ? ' outside' : ''}`)
    return { exitCode: 0, output: shown('loaded', 'enabled', 'active') }
  }
  test.equal(await readEnabled('ntp', run), 'enabled')
  for (const value of ['enabled', 'disabled', 'enabled stopped', 'disabled running'])
    test.equal((await writeEnabled('ntp', value, run, 1000)).exitCode, 0)
  await writeEnabled('ssh', 'enabled', run, 1000)
  test.same(ran, [
    'systemctl show --property=LoadState,UnitFileState,ActiveState chrony.service',
    'systemctl enable --now chrony.service outside',
    'systemctl show --property=LoadState,UnitFileState,ActiveState chrony.service',
    'systemctl disable --now chrony.service outside',
    'systemctl enable chrony.service outside',
    'systemctl stop chrony.service outside',
    'systemctl disable chrony.service outside',
    'systemctl start chrony.service outside',
    'systemctl enable --now ssh.service outside',
    'systemctl show --property=LoadState,UnitFileState,ActiveState ssh.service',
  ])
})

t.test('a unit that systemd does not let run is a failure with the reason', async (test) => {
  const status =
    'Condition: start condition failed at Fri\n           └─ ConditionCapability=CAP_SYS_TIME was not met\n'
  const answering =
    (said: string): Run =>
    async ([, verb]) => ({
      exitCode: verb === 'status' ? 3 : 0,
      output: verb === 'status' ? said : shown('loaded', 'enabled', 'inactive'),
    })
  test.same(await writeEnabled('ntp', 'enabled', answering(status), 1000), {
    exitCode: 1,
    output: 'chrony.service does not run: ConditionCapability=CAP_SYS_TIME was not met',
  })
  const silent = await writeEnabled('ntp', 'enabled', answering(''), 1000)
  test.same(silent, { exitCode: 1, output: 'chrony.service does not run' })
})

t.test('a failure ends it, an unknown state is one, and without systemd nothing is known', async (test) => {
  const ran: string[] = []
  const failing: Run = async (argv) => {
    ran.push(argv.join(' '))
    return { exitCode: 127, output: 'no systemctl' }
  }
  test.same(await writeEnabled('ntp', 'enabled stopped', failing, 1000), { exitCode: 127, output: 'no systemctl' })
  test.equal(ran.length, 1)
  test.not((await writeEnabled('ntp', 'sometimes', failing, 1000)).exitCode, 0)
  test.equal(ran.length, 1)
  test.equal(await readEnabled('ntp', failing), undefined)
})
