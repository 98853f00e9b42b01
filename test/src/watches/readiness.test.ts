import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { defer } from '../../../src/base/deferred.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { PlanResult, Step } from '../../../src/drivers/driver.ts'
import { Readiness, type ReadinessParts } from '../../../src/watches/readiness.ts'
import { frontend, l4Frontend } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { viewOf } from '../../fixtures/view.ts'
import { pair, PAIR } from '../drivers/vrrp/vrrp-records.ts'

const DONE: PlanResult = { ok: true, done: 1, recorded: 0, warnings: [] }

interface Given extends Partial<Pick<ReadinessParts, 'hasReadyOther'>> {
  readonly nodeIds?: readonly string[]
  readonly layer4?: boolean
}

/** The first of a pair that serves on a floating IP. */
function fixture({ nodeIds = PAIR, layer4 = false, ...more }: Given = {}) {
  const files = new Map<string, string>()
  const state = {
    haproxy: true,
    keepalived: true,
    isLeaving: false,
    isRemoved: false,
    hasReadyOther: true,
    result: DONE,
  }
  const clock = manualClock()
  let writes = 0
  const l4Frontends = layer4 ? [l4Frontend('l4', 'be')] : []
  const readiness = new Readiness({
    nodeId: 'node',
    nodeIds: () => nodeIds,
    running: viewOf({ ...pair({}), l7Frontends: [frontend('fe', null)], l4Frontends }),
    revision: () => 1,
    executor: {
      async execute(steps: readonly Step[]) {
        writes += 1
        for (const step of steps)
          if (step.kind === 'values') for (const [name, text] of step.values) files.set(`${step.folder}/${name}`, text)
        return state.result
      },
    },
    haproxy: {
      get isThere() {
        return state.haproxy
      },
    },
    keepalivedRuns: () => state.keepalived,
    isLeaving: () => state.isLeaving,
    isRemoved: () => state.isRemoved,
    hasReadyOther: async () => state.hasReadyOther,
    ...more,
    clock,
    log: silentLog,
  })
  const told = async () => {
    await readiness.look()
    return [files.get('/run/fulcrum-vrrp/ready'), files.get('/run/fulcrum-vrrp/all')]
  }
  return { readiness, state, told, clock, writes: () => writes, files }
}
const READY = ['0\n', '0\n']
const NOT_READY = ['1\n', '0\n']

t.test('a node is not ready before it matches running', async (test) => {
  const { readiness, told, writes } = fixture()
  test.same(await told(), [undefined, undefined])
  test.equal(readiness.why, 'it has not been checked yet')
  await readiness.start()
  test.teardown(() => readiness.close())
  test.same(await told(), READY)
  test.equal(readiness.why, undefined)
  test.equal(writes(), 1, 'an announcement is not repeated')
})

t.test('a node that cannot serve has no addresses: without HAProxy, or without checks of Layer 4', async (test) => {
  for (const layer4 of [false, true]) {
    const { readiness, state, told } = fixture({ layer4 })
    await readiness.start()
    test.teardown(() => readiness.close())
    state.haproxy = false
    test.same(await told(), NOT_READY)
    test.equal(readiness.why, 'its HAProxy does not run')
    state.haproxy = true
    test.same(await told(), READY)
    state.keepalived = false
    test.same(await told(), layer4 ? NOT_READY : READY)
  }
})

t.test('in maintenance addresses move to another node, and stay where there is none', async (test) => {
  const { readiness, state, told } = fixture()
  await readiness.start()
  test.teardown(() => readiness.close())
  state.isLeaving = true
  test.same(await told(), NOT_READY)
  test.equal(readiness.why, 'it is in maintenance')
  state.hasReadyOther = false
  test.same(await told(), READY)
})

t.test('a node that was removed has no addresses, although no other node answers it', async (test) => {
  const { readiness, state, told } = fixture()
  await readiness.start()
  test.teardown(() => readiness.close())
  state.hasReadyOther = false
  state.isRemoved = true
  test.same(await told(), NOT_READY)
  test.equal(readiness.why, 'it was removed from its cluster')
})

t.test('looks do not wait for each other while another node answers slowly', async (test) => {
  let asked = 0
  const [isAsked, answer] = [defer(), defer()]
  const { readiness, state } = fixture({
    async hasReadyOther() {
      asked += 1
      isAsked.resolve()
      await answer.promise
      return true
    },
  })
  await readiness.start()
  test.teardown(() => readiness.close())
  state.isLeaving = true
  await isAsked.promise
  await sleep(1_000)
  answer.resolve()
  await readiness.yield('all')
  test.equal(asked, 2, 'giving an address away is announced at once')
})

t.test('addresses given away stay away for three seconds', async (test) => {
  const { readiness, told, clock } = fixture()
  await readiness.start()
  test.teardown(() => readiness.close())
  await readiness.yield('all')
  test.same(await told(), ['0\n', '1\n'])
  clock.advance(2_999)
  test.same(await told(), ['0\n', '1\n'])
  clock.advance(1)
  test.same(await told(), READY)
})

t.test('they are accepted again as soon as another node has them', async (test) => {
  const { readiness, told } = fixture()
  await readiness.start()
  test.teardown(() => readiness.close())
  await readiness.yield('all')
  await readiness.resume('all')
  test.same(await told(), READY)
})

t.test('where nothing moves nothing is announced', async (test) => {
  const { readiness, writes } = fixture({ nodeIds: [] })
  await readiness.start()
  test.teardown(() => readiness.close())
  test.equal(writes(), 0)
  test.equal(readiness.why, undefined)
})

t.test('a failed announcement is repeated after a while, and another one at once', async (test) => {
  const { readiness, state, writes, clock } = fixture()
  const refused = { failedStep: 0, kind: 'values', why: 'x', output: 'full', missing: false, undone: true } as const
  state.result = { ok: false, ...refused }
  await test.rejects(readiness.start(), { message: 'full' })
  await readiness.look()
  test.equal(writes(), 1)
  state.haproxy = false
  await test.rejects(readiness.look(), { message: 'full' })
  test.equal(writes(), 2)
  state.result = DONE
  clock.advance(5_000)
  await readiness.look()
  test.equal(writes(), 3)
  readiness.close()
})
