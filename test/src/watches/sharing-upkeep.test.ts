import t from 'tap'
import type { ApplyEngine } from '../../../src/config/apply.ts'
import { createLog } from '../../../src/base/log.ts'
import type { Driver } from '../../../src/drivers/driver.ts'
import type { Sharing } from '../../../src/drivers/haproxy/sharing.ts'
import { type SharingHere, SharingUpkeep } from '../../../src/watches/sharing-upkeep.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const sharingWith = (...ids: readonly string[]): Sharing => ({
  self: 'a',
  ip: '192.0.2.1',
  port: 9447,
  own: 'key',
  named: ids.join(),
  others: ids.map((id) => ({ id, ip: '192.0.2.2', port: 9447 })),
})

function fixture({ ends = async () => {} } = {}) {
  const clock = manualClock()
  const here: SharingHere = { current: undefined }
  /** The peers of HAProxy after each reload. */
  const reloads: (string | undefined)[] = []
  const machine = { ok: true, isUnsettled: false, isOurs: true, revision: 1 }
  const engine = {
    get isUnsettled() {
      return machine.isUnsettled
    },
    converge: async (select: Parameters<ApplyEngine['converge']>[0]) => {
      // Sound: it uses names.
      const isSelected = (name: string) => select?.({ name } as Driver)
      t.same(['network', 'layer7proxy'].map(isSelected), [false, true])
      reloads.push(here.current?.named)
      await ends()
      const failed = { failedStep: 0, kind: 'unit', why: 'w', output: 'o', missing: false, undone: true } as const
      return machine.ok ? { ok: true as const, done: 1, recorded: 0, warnings: [] } : { ok: false as const, ...failed }
    },
  }
  const state: { wanted: Sharing | undefined } = { wanted: undefined }
  const wanted = async () => state.wanted
  const log = createLog(() => undefined)
  const [isOurs, revision] = [() => machine.isOurs, () => machine.revision]
  const upkeep = new SharingUpkeep({ engine, here, wanted, isOurs, revision, clock, log })
  return { upkeep, clock, here, reloads, machine, state }
}

t.test('HAProxy is told of joining and leaving nodes, once each', async (t) => {
  const { upkeep, clock, here, reloads, state } = fixture()
  state.wanted = sharingWith('b')
  await upkeep.begin()
  await upkeep.look()
  t.same([reloads, here.current], [[], sharingWith('b')], 'its peers before this start')
  state.wanted = sharingWith('b', 'c')
  await upkeep.look()
  await upkeep.look()
  t.same(reloads, ['b,c'])
  state.wanted = sharingWith('b', 'c', 'd')
  await upkeep.look()
  t.same(reloads, ['b,c'], 'it waits until HAProxy has learned from the others')
  clock.advance(10_000)
  await upkeep.look()
  t.same(reloads, ['b,c', 'b,c,d'])
  state.wanted = sharingWith('b', 'd')
  await upkeep.look()
  t.same(reloads.at(-1), 'b,d', 'it does not wait for a leaving one')
  state.wanted = undefined
  await upkeep.look()
  t.same([reloads.length, here.current], [4, undefined])
})

t.test('after an apply that began sharing it waits, but not for each node in turn', async (t) => {
  const { upkeep, clock, reloads, machine, state } = fixture()
  await upkeep.begin()
  state.wanted = sharingWith('b')
  machine.revision += 1
  await upkeep.look()
  clock.advance(9_000)
  await upkeep.look()
  t.same(reloads, [])
  clock.advance(1_000)
  await upkeep.look()
  t.same(reloads, ['b'])
  state.wanted = sharingWith('b', 'c')
  for (let seconds = 0; reloads.length === 1 && seconds < 120; seconds += 5) {
    machine.revision += 1
    await upkeep.look()
    clock.advance(5_000)
  }
  t.same(reloads, ['b', 'b,c'])
  t.equal(clock.monotonic_ms(), 10_000 + 60_000 + 5_000)
})

t.test("a failure is retried, and until then plans use HAProxy's present peers", async (t) => {
  const { upkeep, clock, here, reloads, machine, state } = fixture()
  state.wanted = sharingWith('b')
  machine.ok = false
  await upkeep.look()
  t.same([reloads, here.current], [['b'], undefined])
  machine.ok = true
  await upkeep.look()
  t.equal(reloads.length, 1)
  clock.advance(10_000)
  await upkeep.look()
  t.same([reloads.length, here.current], [2, sharingWith('b')])
})

t.test('an apply is not disturbed, nor a HAProxy of others', async (t) => {
  const { upkeep, here, reloads, machine, state } = fixture()
  state.wanted = sharingWith('b')
  machine.isUnsettled = true
  await upkeep.look()
  t.same([reloads, here.current], [[], undefined])
  machine.isUnsettled = false
  machine.isOurs = false
  await upkeep.look()
  t.same([reloads, here.current], [[], sharingWith('b')], 'the first apply is made with it')
  machine.isOurs = true
  state.wanted = undefined
  upkeep.start()
  upkeep.close()
  await upkeep.look()
  t.same(reloads, [], 'nothing is begun when it has ended')
})

t.test('an error on the way is retried as well', async (test) => {
  const throws = [new Error('the queue is full')]
  const ends = async () => {
    const error = throws.shift()
    if (error !== undefined) throw error
  }
  const { upkeep, clock, here, reloads, state } = fixture({ ends })
  state.wanted = sharingWith('b')
  await test.rejects(upkeep.look(), /the queue is full/)
  test.same([reloads, here.current], [['b'], undefined])
  clock.advance(10_000)
  await upkeep.look()
  test.same([reloads, here.current], [['b', 'b'], state.wanted])
})
