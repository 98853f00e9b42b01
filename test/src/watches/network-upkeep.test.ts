import t, { type Test } from 'tap'
import { ApplyEngine } from '../../../src/config/apply.ts'
import { configView } from '../../../src/config/views.ts'
import type { PlanResult, Step } from '../../../src/drivers/driver.ts'
import { supervisedPaths } from '../../../src/drivers/haproxy/paths.ts'
import { createDrivers } from '../../../src/drivers/index.ts'
import { createLog } from '../../../src/base/log.ts'
import { NetworkUpkeep } from '../../../src/watches/network-upkeep.ts'
import { configFixture, ENGINE_DEFAULTS } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const DONE: PlanResult = { ok: true, done: 0, recorded: 0, warnings: [] }

const FAILED = { ok: false, failedStep: 0, kind: 'network', why: 'w', missing: false, undone: true } as const

function fixture(test: Test) {
  const config = configFixture(test)
  const plans: (readonly Step[])[] = []
  const lines: string[] = []
  const log = createLog((line) => lines.push(line))
  const machine = { result: DONE, settled: 0 }
  const nodeIds: string[] = []
  const clock = manualClock()
  const engine = new ApplyEngine({
    ...ENGINE_DEFAULTS,
    nodeId: 'n',
    log,
    store: config.store,
    drivers: createDrivers({ haproxy: supervisedPaths('/state/haproxy'), stateFolder: '/state' }, 'n'),
    executor: {
      async execute(steps) {
        plans.push(steps)
        return machine.result
      },
      check: async () => DONE,
    },
  })
  const upkeep = new NetworkUpkeep({
    engine,
    running: configView(config.store.running),
    listeners: { settle: async () => void (machine.settled += 1) },
    nodeIds: () => nodeIds,
    clock,
    log,
  })
  const texts = { networkIp: '192.0.2.0', networkMask: 24, gateway: '', defaultGateway: false }
  const assigned = { assignedInterfaces: [{ nodeId: 'n', interfaceId: 'card' }] }
  const apply = async () => {
    await config.edit((draft) => {
      draft.section('ipGroups').create({ id: 'g', name: 'lan', ...texts, ...assigned })
      draft
        .section('staticIps')
        .create({ id: 's', nodeId: 'n', groupId: 'g', ip: '192.0.2.9', externalPingCheck: true })
    })
    await config.promote()
  }
  return { upkeep, plans, machine, apply, lines, nodeIds, clock }
}

t.test('only the network is enforced, and addresses are not probed', async (test) => {
  const { upkeep, plans, machine, apply } = fixture(test)
  await upkeep.look()
  test.same(plans, [], 'where nothing is configured nothing is checked')
  await apply()
  await upkeep.look()
  test.match(plans, [[{ kind: 'network', phase: 'settle', keepsPart: true }]])
  test.equal(machine.settled, 2, 'the API as well')
  test.notOk(JSON.stringify(plans).includes('"pingCheck":true'))
})

t.test('an error is logged, and retried', async (test) => {
  const { upkeep, plans, machine, apply, lines } = fixture(test)
  await apply()
  machine.result = { ...FAILED, output: 'RTNETLINK answers: Operation not permitted' }
  await upkeep.look()
  test.match(lines.join(''), /Operation not permitted/)
  await upkeep.look()
  test.equal(plans.length, 2)
  upkeep.start()
  upkeep.close()
})

t.test('when nodes join or leave, addresses of this node alone are removed first, and added last', async (test) => {
  const { upkeep, plans, apply, nodeIds, clock } = fixture(test)
  await apply()
  clock.advance(1_000)
  await upkeep.lookWho()
  test.same(plans, [], 'no node came')
  nodeIds.push('n', 'm')
  await upkeep.lookWho()
  const networks = () => plans.filter((steps) => steps.some(({ kind }) => kind === 'network')).length
  test.equal(networks(), 2)
  test.ok(plans.some((steps) => steps.some((step) => step.kind === 'unit' && step.unit === 'clusterha')))
  clock.advance(60_000)
  await upkeep.lookWho()
  test.equal(networks(), 2)
})

t.test('a failure when a node joins is retried until it succeeds', async (test) => {
  const { upkeep, plans, machine, apply, nodeIds, clock } = fixture(test)
  await apply()
  nodeIds.push('n', 'm')
  const units = () => plans.filter((steps) => steps.some((step) => step.kind === 'unit')).length
  machine.result = { ...FAILED, output: 'no space' }
  await upkeep.lookWho()
  const once = units()
  test.ok(once > 0)
  await upkeep.lookWho()
  test.equal(units(), once, 'not at once')
  machine.result = DONE
  clock.advance(10_000)
  await upkeep.lookWho()
  test.equal(units(), 2 * once)
  clock.advance(10_000)
  await upkeep.lookWho()
  test.equal(units(), 2 * once, 'it is done')
})

t.test('addresses stay with VRRP until a node that was removed has given its own away', async (test) => {
  const { upkeep, plans, apply, nodeIds, clock } = fixture(test)
  await apply()
  nodeIds.push('n', 'm')
  clock.advance(1_000)
  await upkeep.lookWho()
  const before = plans.length
  clock.advance(60_000)
  nodeIds.pop()
  await upkeep.lookWho()
  clock.advance(9_000)
  await upkeep.lookWho()
  test.equal(plans.length, before, 'it announces them each second, and would be taken for their holder afterwards')
  clock.advance(1_000)
  await upkeep.lookWho()
  test.ok(plans.length > before)
})
