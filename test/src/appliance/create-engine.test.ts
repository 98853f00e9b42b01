import t from 'tap'
import { createEngine } from '../../../src/appliance/create-engine.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { configView } from '../../../src/config/views.ts'
import type { Step } from '../../../src/drivers/driver.ts'
import { silentLog } from '../../../src/base/log.ts'
import { recordingMachine } from '../../fixtures/appliance.ts'
import { configFixture, frontend, refuses } from '../../fixtures/config.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('figures are read and logs collected before HAProxy is reloaded, and every rule is checked', async (test) => {
  const { store, edit } = configFixture(test)
  const machine = recordingMachine(temporaryFolder(test, 'engine'))
  const order: string[] = []
  const execute = machine.executor.execute.bind(machine.executor)
  const node = {
    store,
    running: configView(store.running),
    drivers: machine.drivers('n', () => []),
    facts: machine.facts,
    nodeId: 'n',
    born: 'n',
    clock: systemClock,
    log: silentLog,
    machine: {
      ...machine,
      executor: {
        check: (steps: readonly Step[]) => machine.executor.check(steps),
        execute(steps: readonly Step[], capture?: () => Promise<void>) {
          order.push(`execute ${steps.some((step) => step.kind === 'unit') ? 'unit' : 'other'}`)
          return execute(steps, capture)
        },
      },
    },
    listeners: { verify: async () => [], enact: async () => undefined } as never,
    membership: { others: undefined } as never,
    archives: { capture: async () => void order.push('capture') } as never,
    accessLogs: { capture: async () => void order.push('listen') } as never,
    access: { onPromoted: () => void order.push('promoted') } as never,
    events: { publish: (_: string, { state }: { readonly state: string }) => void order.push(state) } as never,
  }
  const engine = createEngine(node, async () => void order.push('before'))
  await edit((draft) => draft.section('l7Frontends').create(frontend('fe', null)))
  // No administrator would be left: the store of this test has none.
  const error = await refuses(test, 'IN_USE', engine.apply({ force: undefined }, { by: 'a', address: undefined }))
  test.match(error.message, /administrator/i)
  test.same(order, ['refused'])
  await engine.converge(({ name }) => name === 'layer7proxy')
  test.same(order.slice(1), ['execute unit', 'capture', 'listen'])
})
