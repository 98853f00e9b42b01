import t, { type Test } from 'tap'
import { ApplyEngine } from '../../../src/config/apply.ts'
import type { Step } from '../../../src/drivers/driver.ts'
import { supervisedPaths } from '../../../src/drivers/haproxy/paths.ts'
import { createDrivers } from '../../../src/drivers/index.ts'
import { Units } from '../../../src/machine/units.ts'
import { configFixture, ENGINE_DEFAULTS, refuses } from '../../fixtures/config.ts'

function fixture(test: Test, isDryRun = false, membership: { readonly cluster: unknown } = { cluster: undefined }) {
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
        return { ok: true, done: 1, recorded: 0, warnings: [] }
      },
      check: async () => ({ ok: true, done: 0, recorded: 0, warnings: [] }),
    },
  })
  const updated: string[] = []
  const updates = {
    async updatePackage(name: string, isForced: boolean, by: string) {
      updated.push(`${name} ${isForced} ${by}`)
      return { isDryRun }
    },
    async startPackage(name: string, isForced: boolean, by: string) {
      updated.push(`${name} ${isForced} ${by} begins`)
      return { job: 'job-1', isDryRun }
    },
  }
  return {
    plans,
    updated,
    units: new Units({ engine, updates, membership, listeners: { settle: async () => void (reopened += 1) } }),
    reopened: () => reopened,
  }
}

t.test('the list shows the possible operations, and no packages', async (test) => {
  const { units } = fixture(test)
  test.same(units.list(), [
    { name: 'layer7proxy', fullName: 'Layer 7 load balancer (HAProxy)', canReload: true, canUpdate: true },
    {
      name: 'ipvsDirector',
      fullName: 'Layer 4 load balancer (keepalived, IPVS)',
      canReload: true,
      canUpdate: true,
    },
    {
      name: 'clusterha',
      fullName: 'High availability of floating IPs (keepalived, VRRP)',
      canReload: false,
      canUpdate: true,
    },
    { name: 'healthchecks', fullName: 'Health checks of both layers', canReload: true, canUpdate: false },
    { name: 'ntp', fullName: 'Clock synchronisation (chrony)', canReload: true, canUpdate: true },
    { name: 'ssh', fullName: 'Remote shell (OpenSSH)', canReload: true, canUpdate: true },
    { name: 'snmp', fullName: 'SNMP agent (snmpd)', canReload: true, canUpdate: true },
    { name: 'webui', fullName: 'User interface and API', canReload: true, canUpdate: true },
  ])
})

t.test('an unmanaged service is refused before anything happens', async (test) => {
  const { units, plans } = fixture(test)
  for (const name of ['haproxy', 'layer7proxy ', 'LAYER7PROXY', '']) {
    await refuses(test, 'NOT_FOUND', units.operate(name, 'restart', 'a@b'))
    await refuses(test, 'NOT_FOUND', units.update(name, false, 'a@b'))
  }
  test.same(plans, [])
})

t.test('reload and restart enforce running; neither is a dry run, in both profiles', async (test) => {
  for (const isDryRun of [true, false]) {
    const { units, plans } = fixture(test, isDryRun)
    for (const verb of ['reload', 'restart'] as const) {
      test.same(await units.operate('layer7proxy', verb, 'a@b'), { isDryRun: false })
      test.match(
        plans.at(-1)?.filter((step) => step.kind === 'unit'),
        [{ unit: 'layer7proxy', verb, whenUnchanged: 'act' }],
      )
    }
  }
})

t.test(
  'system programs are operated through their units, the API’s own listener moves where it should be',
  async (test) => {
    const { units, plans, reopened } = fixture(test)
    await units.operate('ntp', 'restart', 'a@b')
    await units.operate('ssh', 'reload', 'a@b')
    test.match(plans, [
      [{ kind: 'unit', unit: 'ntp', verb: 'restart' }],
      [{ kind: 'unit', unit: 'ssh', verb: 'reload' }],
    ])
    await units.operate('webui', 'reload', 'a@b')
    test.equal(reopened(), 1)
    test.equal(plans.length, 2)
  },
)

t.test('a node in a cluster restarts the program that moves its floating IPs, and can reload it', async (test) => {
  const { units, plans } = fixture(test, false, { cluster: {} })
  test.match(
    units.list().find(({ name }) => name === 'clusterha'),
    { canReload: true },
  )
  await units.operate('clusterha', 'restart', 'a@b')
  test.match(plans, [[{ kind: 'unit', unit: 'clusterha', verb: 'restart' }]])
})

t.test('health checks restart in both programs; a node in no cluster has none to operate', async (test) => {
  const { units, plans } = fixture(test)
  for (const verb of ['reload', 'restart'] as const) await units.operate('healthchecks', verb, 'a@b')
  const operated = plans.flat().flatMap((step) => (step.kind === 'unit' ? [`${step.verb} ${step.unit}`] : []))
  const both = ['reload layer7proxy', 'reload ipvsDirector']
  test.same(operated, [...both, ...both], 'no connection is lost')
  for (const verb of ['reload', 'restart'] as const) {
    await refuses(test, 'NOT_SUPPORTED', units.operate('clusterha', verb, 'a@b'))
  }
  await refuses(test, 'NOT_SUPPORTED', units.update('healthchecks', false, 'a@b'))
})

t.test('an update concerns its Debian package, for the caller, and nothing is done to the unit', async (test) => {
  for (const isDryRun of [false, true]) {
    const { units, plans, updated } = fixture(test, isDryRun)
    test.same(await units.update('layer7proxy', false, 'a@b'), { isDryRun })
    await units.update('ntp', true, 'c@d')
    test.same(await units.update('webui', false, 'a@b'), { job: 'job-1', isDryRun }, 'which ends this daemon')
    test.same(updated, ['haproxy false a@b', 'chrony true c@d', 'fulcrum false a@b begins'])
    test.same(plans, [])
  }
})
