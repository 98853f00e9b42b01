import t from 'tap'
import { createEngine } from '../../src/create-engine.ts'
import { systemClock } from '../../src/clock.ts'
import { configView } from '../../src/config/views.ts'
import { silentLog } from '../../src/log.ts'
import { recordingMachine } from '../appliance-fixture.ts'
import { configFixture, frontend, refuses, temporaryFolder } from '../config-fixture.ts'

t.test('figures are read before HAProxy is reloaded, and every rule is asked', async (test) => {
  const { store, edit } = configFixture(test)
  const machine = recordingMachine(temporaryFolder(test, 'engine'))
  const order: string[] = []
  const execute = machine.executor.execute.bind(machine.executor)
  const engine = createEngine({
    node: {
      store,
      running: configView(store.running),
      drivers: machine.drivers('n'),
      nodeId: 'n',
      born: 'n',
      clock: systemClock,
      log: silentLog,
    },
    machine: {
      ...machine,
      executor: {
        check: (steps) => machine.executor.check(steps),
        execute(steps) {
          order.push(`execute ${steps.some((step) => step.kind === 'unit') ? 'unit' : 'other'}`)
          return execute(steps)
        },
      },
    },
    listeners: { verify: async () => [], enact: async () => undefined } as never,
    stats: { capture: async () => void order.push('capture') } as never,
    access: { onPromoted: () => void order.push('promoted') } as never,
    tell: ({ state }) => void order.push(state),
    beforeApply: async () => void order.push('before'),
  })
  await edit((draft) => draft.section('l7Frontends').create(frontend('fe', null)))
  // No administrator would be left: the store of this test has none.
  const error = await refuses(
    test,
    'CONFIG_INVALID',
    engine.apply({ force: undefined }, { by: 'a', address: undefined }),
  )
  test.match(error.message, /administrator/i)
  test.same(order, ['refused'])
  await engine.converge(({ name }) => name === 'layer7proxy')
  test.same(order.slice(1), ['capture', 'execute unit'])
})
