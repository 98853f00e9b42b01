import t, { type Test } from 'tap'
import { ApplyEngine } from '../../src/config/apply.ts'
import type { PlanResult, Step } from '../../src/drivers/driver.ts'
import { supervisedPaths } from '../../src/drivers/haproxy/paths.ts'
import { createDrivers } from '../../src/drivers/index.ts'
import { Units } from '../../src/units.ts'
import { configFixture, ENGINE_DEFAULTS, refuses } from '../config-fixture.ts'

function fixture(
  test: Test,
  touchesPackages: boolean,
  result: PlanResult = { ok: true, done: 1, recorded: 0, warnings: [] },
) {
  const { store } = configFixture(test)
  const plans: (readonly Step[])[] = []
  let reopened = 0
  const engine = new ApplyEngine({
    ...ENGINE_DEFAULTS,
    store,
    drivers: createDrivers({ haproxy: supervisedPaths('/state/haproxy'), stateFolder: '/state' }, 'node'),
    executor: {
      async execute(steps) {
        plans.push(steps)
        return result
      },
      check: async () => ({ ok: true, done: 0, recorded: 0, warnings: [] }),
    },
  })
  return {
    plans,
    units: new Units(engine, touchesPackages, async () => void (reopened += 1), '/state/machine/proxy.env'),
    reopened: () => reopened,
  }
}

t.test('the list says what can be done, and nothing of packages', async (test) => {
  const { units } = fixture(test, true)
  test.same(units.list(), [
    { name: 'layer7proxy', fullName: 'Layer 7 load balancer (HAProxy)', canReload: true, canUpdate: true },
    { name: 'ntp', fullName: 'Clock synchronisation (chrony)', canReload: true, canUpdate: true },
    { name: 'ssh', fullName: 'Remote shell (OpenSSH)', canReload: true, canUpdate: true },
    { name: 'webui', fullName: 'User interface and API', canReload: true, canUpdate: false },
  ])
})

t.test('a service that is not managed is refused before anything happens', async (test) => {
  const { units, plans } = fixture(test, true)
  for (const name of ['haproxy', 'layer7proxy ', 'LAYER7PROXY', '']) {
    await refuses(test, 'NOT_FOUND', units.operate(name, 'restart'))
    await refuses(test, 'NOT_FOUND', units.operate(name, 'update'))
  }
  test.same(plans, [])
})

t.test('reload and restart enforce running; neither is a dry run, in both profiles', async (test) => {
  for (const touchesPackages of [true, false]) {
    const { units, plans } = fixture(test, touchesPackages)
    for (const verb of ['reload', 'restart'] as const) {
      test.same(await units.operate('layer7proxy', verb), { isDryRun: false })
      test.match(
        plans.at(-1)?.filter((step) => step.kind === 'unit'),
        [{ unit: 'layer7proxy', verb, whenUnchanged: 'act' }],
      )
    }
  }
})

t.test(
  'programs of the machine are operated through their units, the API’s own listener goes where it should be',
  async (test) => {
    const { units, plans, reopened } = fixture(test, true)
    await units.operate('ntp', 'restart')
    await units.operate('ssh', 'reload')
    test.match(plans, [
      [{ kind: 'unit', unit: 'ntp', verb: 'restart' }],
      [{ kind: 'unit', unit: 'ssh', verb: 'reload' }],
    ])
    await units.operate('webui', 'reload')
    test.equal(reopened(), 1)
    test.equal(plans.length, 2)
    await refuses(test, 'NOT_SUPPORTED', () => units.operate('webui', 'update'))
  },
)

t.test('an update runs the package manager once and keeps our configuration files', async (test) => {
  const { units, plans } = fixture(test, true)
  test.same(await units.operate('layer7proxy', 'update'), { isDryRun: false })
  const [[step] = []] = plans
  test.equal(plans.flat().length, 1)
  if (step?.kind !== 'run') throw new Error('no program is run')
  test.equal(step.argv[0], 'systemd-run')
  test.ok(step.argv.includes('apt-get'))
  const before = step.argv.slice(0, step.argv.indexOf('apt-get'))
  test.same(before.slice(-2), ['env', '--unset=no_proxy'])
  test.ok(before.includes('--property=EnvironmentFile=-/state/machine/proxy.env'), 'through the proxy, if there is one')
  test.equal(step.argv.at(-1), 'haproxy')
  for (const option of ['--yes', '--only-upgrade', 'Dpkg::Options::=--force-confold']) {
    test.ok(step.argv.includes(option), option)
  }
  test.equal(step.undo, 'irreversible')
})

t.test('in trial an update touches nothing and says so', async (test) => {
  const { units, plans } = fixture(test, false)
  test.same(await units.operate('layer7proxy', 'update'), { isDryRun: true })
  test.same(plans, [])
})

t.test('a package manager that is not there, or fails, is a refusal with its output', async (test) => {
  const failure = { ok: false, failedStep: 0, kind: 'run', why: 'update', output: 'apt says no', undone: true } as const
  const missing = fixture(test, true, { ...failure, missing: true })
  test.match(
    (await refuses(test, 'NOT_SUPPORTED', missing.units.operate('layer7proxy', 'update'))).message,
    /apt says no/,
  )
  const failed = fixture(test, true, { ...failure, missing: false })
  const error = await refuses(test, 'APPLY_PARTIAL', failed.units.operate('layer7proxy', 'update'))
  test.match(error.details.data, { nodes: [{ nodeId: 'node-1', ok: false, output: 'apt says no' }] })
})
