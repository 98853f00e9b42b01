import t from 'tap'
import { backTo, orderPlan } from '../../../src/config/plan.ts'
import type { Driver, Step } from '../../../src/drivers/driver.ts'
import type { ConfigView } from '../../../src/model/sections.ts'
import { viewOf } from '../../fixtures/view.ts'

const basics = { why: 'w', timeout_ms: 1000 }
const driver = (name: string, plan: Driver['plan'] = () => []): Driver => ({
  name,
  sections: [],
  prepare: () => [],
  verify: () => [],
  plan,
  effectOf: () => undefined,
  render: () => [],
  diagnose: () => [],
})
const run = (name: string): Step => ({ ...basics, kind: 'run', argv: [name], undo: [] })

t.test('checks first, possible removals last, everything else in order', async (test) => {
  const owner = driver('a')
  const network = { addresses: [], routes: [], rules: [] }
  const settle: Step = { ...basics, kind: 'network', desired: network, phase: 'settle' }
  const check: Step = { ...basics, kind: 'check', path: '/c', content: '', mode: 0o600, argv: ['true'] }
  const { steps, owners } = orderPlan([settle, run('1'), check, run('2')].map((step) => ({ step, owner })))
  test.same(
    steps.map((step) => (step.kind === 'run' ? step.argv[0] : step.kind)),
    ['check', '1', '2', 'network'],
  )
  test.equal(owners.length, 4)
})

t.test(
  'the undo starts from the attempted state; a driver without a difference makes everything anew',
  async (test) => {
    const [running, attempted] = [viewOf({}), viewOf({})]
    const asked: unknown[] = []
    const answers = (steps: readonly Step[]) =>
      driver('a', (from: ConfigView | undefined, _desired, options) => {
        asked.push([from === attempted ? 'attempted' : from, options])
        return from === undefined ? [run('anew')] : steps
      })
    test.match(backTo(running, attempted, answers([run('back')])), [{ argv: ['back'] }])
    test.match(backTo(running, attempted, answers([])), [{ argv: ['anew'] }])
    test.same(asked[0], ['attempted', { atLeast: 'reload', isReturn: true }])
  },
)
