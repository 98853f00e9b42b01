import t from 'tap'
import { timedateDriver } from '../../../../src/drivers/timedate/driver.ts'
import { viewOf } from '../../../fixtures/view.ts'

const driver = timedateDriver('node')
const clock = (timezone: string, id = 'node') => ({ id, timezone, ntp: null })
const view = (...zones: readonly string[]) => viewOf({ clocks: zones.map((zone) => clock(zone)) })
const values = (running: ReturnType<typeof view> | undefined, desired: ReturnType<typeof view>) =>
  driver
    .plan(running, desired, { atLeast: 'runtime' })
    .map((step) => (step.kind === 'setting' && step.setting.kind === 'timezone' ? step.value : step.kind))

t.test('without a zone the machine is left as it was found', async (test) => {
  test.same(values(undefined, view()), [])
  test.same(values(undefined, view('')), [])
  test.same(values(view(), view('')), [])
  test.same(values(undefined, viewOf({ clocks: [clock('Europe/Paris', 'another-node')] })), [])
})

t.test('a zone is set when it differs, or is unknown', async (test) => {
  test.same(values(undefined, view('Europe/Paris')), ['Europe/Paris'])
  test.same(values(view(), view('Europe/Paris')), ['Europe/Paris'])
  test.same(values(view('Etc/UTC'), view('Europe/Paris')), ['Europe/Paris'])
  test.same(values(view('Europe/Paris'), view('Europe/Paris')), [])
})

t.test('removing a zone restores the original one', async (test) => {
  test.same(values(view('Europe/Paris'), view()), [undefined])
  test.same(values(view('Europe/Paris'), view('')), [undefined])
})

t.test("only a change of this node's zone has a cost", async (test) => {
  const change = (before: string, after: string, id = 'node') =>
    driver.effectOf({ section: 'clocks', id, before: clock(before, id), after: clock(after, id) }, view(), view())
  test.equal(change('Etc/UTC', 'Europe/Paris'), 'runtime')
  test.equal(change('Etc/UTC', 'Etc/UTC'), undefined)
  test.equal(change('Etc/UTC', 'Europe/Paris', 'another-node'), undefined)
  test.same([driver.render(view('Etc/UTC')), driver.verify(view('Etc/UTC')), [...driver.prepare(view())]], [[], [], []])
  test.same(driver.diagnose('', view()), [])
})
