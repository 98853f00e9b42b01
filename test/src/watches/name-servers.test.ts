import t from 'tap'
import { createLog } from '../../../src/base/log.ts'
import type { ApplyEngine } from '../../../src/config/apply.ts'
import type { Driver } from '../../../src/drivers/driver.ts'
import { NameServers, type NameServersHere } from '../../../src/watches/name-servers.ts'

function fixture() {
  const here: NameServersHere = { current: ['192.0.2.1:53'] }
  const machine = { now: ['192.0.2.1:53'], ok: true, throws: false, isUnsettled: false, isAsked: true }
  /** The name servers of HAProxy after each reload. */
  const reloads: string[] = []
  const engine = {
    get isUnsettled() {
      return machine.isUnsettled
    },
    converge: async (select: Parameters<ApplyEngine['converge']>[0]) => {
      // Sound: it uses names.
      t.same(
        ['network', 'layer7proxy'].map((name) => select?.({ name } as Driver)),
        [false, true],
      )
      reloads.push(here.current.join())
      if (machine.throws) throw new Error('the queue is full')
      const failed = { failedStep: 0, kind: 'unit', why: 'w', output: 'o', missing: false, undone: true } as const
      return machine.ok ? { ok: true as const, done: 1, recorded: 0, warnings: [] } : { ok: false as const, ...failed }
    },
  }
  const log = createLog(() => undefined)
  const watch = new NameServers({ engine, here, read: async () => machine.now, isAsked: () => machine.isAsked, log })
  return { watch, here, machine, reloads }
}

t.test('HAProxy gets changed name servers, once', async (test) => {
  const { watch, machine, reloads } = fixture()
  await watch.look()
  machine.now = ['192.0.2.2:53', '192.0.2.3:53']
  await watch.look()
  await watch.look()
  test.same(reloads, ['192.0.2.2:53,192.0.2.3:53'])
})

t.test('nothing is reloaded where no name is resolved, but the next plan knows', async (test) => {
  const { watch, here, machine, reloads } = fixture()
  machine.isAsked = false
  machine.now = ['192.0.2.2:53']
  await watch.look()
  test.same([reloads, here.current], [[], machine.now])
})

t.test('an apply is not disturbed, and a failure is retried', async (test) => {
  const { watch, here, machine, reloads } = fixture()
  machine.now = ['192.0.2.2:53']
  machine.isUnsettled = true
  await watch.look()
  test.same([reloads, here.current], [[], ['192.0.2.1:53']])
  Object.assign(machine, { isUnsettled: false, ok: false })
  await watch.look()
  test.same(here.current, ['192.0.2.1:53'])
  Object.assign(machine, { ok: true, throws: true })
  await test.rejects(watch.look(), /the queue is full/)
  machine.throws = false
  await watch.look()
  test.same([reloads.length, here.current], [3, machine.now])
})
