import t from 'tap'
import { networkDriver } from '../../../../src/drivers/iproute2/driver.ts'
import { type Records, viewOf } from '../../../fixtures/view.ts'
import { ipGroup, ipRoute, NODE, staticIp } from './network-records.ts'

const driver = networkDriver(NODE)
const plan = (running: Records | undefined, desired: Records) =>
  driver
    .plan(running === undefined ? undefined : viewOf(running), viewOf(desired), { atLeast: 'runtime' })
    .map((step) =>
      step.kind === 'network' ? `${step.phase} ${step.desired.addresses.map(({ ip }) => ip).join()}` : step.kind,
    )

const ONE: Records = { ipGroups: [ipGroup('a')], staticIps: [staticIp('1', 'a', '10.0.0.5')] }
const TWO: Records = { ...ONE, staticIps: [...(ONE.staticIps ?? []), staticIp('2', 'a', '10.0.0.6')] }

t.test('a change is added first and settled last', async (test) => {
  test.same(plan(ONE, TWO), ['add 10.0.0.5,10.0.0.6', 'settle 10.0.0.5,10.0.0.6'])
  test.same(plan(TWO, ONE), ['add 10.0.0.5', 'settle 10.0.0.5'])
})

t.test('without records nothing is planned; when they are gone the network is given back', async (test) => {
  test.same(plan({}, {}), [])
  test.same(plan(ONE, {}), ['settle '])
})

t.test('nothing is planned when the network stays the same, whatever is renamed', async (test) => {
  test.same(plan(ONE, { ...ONE, ipGroups: [ipGroup('a', { name: 'other' })] }), [])
  test.same(plan(ONE, { ...ONE, ipRoutes: [ipRoute('1', { type: 'default', viaIp: '10.0.0.1', enabled: false })] }), [])
})

t.test(
  'an address whose IP group has no interface here is said when it is applied, and not at a start',
  async (test) => {
    const unassigned = { ...ONE, ipGroups: [ipGroup('a', { assignedInterfaces: [] })] }
    const said = (running: Records | undefined, more: { readonly isReturn?: true } = {}) =>
      driver
        .plan(running === undefined ? undefined : viewOf(running), viewOf(unassigned), { atLeast: 'runtime', ...more })
        .flatMap((one) => (one.kind === 'network' ? [one.phase, ...(one.desired.leftOut ?? [])] : []))
    const sentence = 'static IP 10.0.0.5 is not added: its IP group group a has no interface on this node'
    test.same(said({}), ['settle', sentence])
    test.same(said(ONE), ['settle', sentence])
    test.same(said(unassigned), [])
    test.same(said(undefined), ['settle'])
    test.same(said(ONE, { isReturn: true }), ['settle'])
  },
)

t.test('from an unknown state everything is made, and remains of a crash are removed', async (test) => {
  test.same(plan(undefined, ONE), ['settle 10.0.0.5'])
  test.same(plan(undefined, {}), ['settle '])
  test.equal(driver.makesAnew, true)
})

t.test('a change checks addresses for duplicates, a start does not', async (test) => {
  const asked = (running: Records | undefined) =>
    driver
      .plan(running === undefined ? undefined : viewOf(running), viewOf(ONE), { atLeast: 'runtime' })
      .flatMap((one) => (one.kind === 'network' ? one.desired.addresses.map(({ pingCheck }) => pingCheck) : []))
  test.same(asked({}), [true, true])
  test.same(asked(undefined), [false])
})

t.test(
  'a change costs the network, unless it only changes words; other sections and nodes are not ours',
  async (test) => {
    const effect = (running: Records, desired: Records, change: Parameters<typeof driver.effectOf>[0]) =>
      driver.effectOf(change, viewOf(running), viewOf(desired))
    const added = TWO.staticIps?.[1]
    const address = { section: 'staticIps', id: '2', before: undefined, after: added } as const
    test.equal(effect(ONE, TWO, address), 'network')
    const [before, after] = [ipGroup('a'), ipGroup('a', { name: 'other' })]
    const rename = { section: 'ipGroups', id: 'a', before, after } as const
    test.equal(effect(ONE, { ...ONE, ipGroups: [after] }, rename), 'runtime')
    const unassigned = { ...ONE, ipGroups: [ipGroup('a', { assignedInterfaces: [] })] }
    test.equal(effect({ ...unassigned, staticIps: [] }, unassigned, address), 'runtime', 'it has no address')
    const elsewhere = ipRoute('9', { nodeId: 'other', type: 'blackhole', destination: '10.9.0.0/16' })
    test.equal(effect(ONE, ONE, { section: 'ipRoutes', id: '9', before: undefined, after: elsewhere }), undefined)
    test.equal(effect(ONE, ONE, { section: 'realServers', id: 'r', before: undefined, after: undefined }), undefined)
  },
)

t.test('output without a known record is one problem; reviews show the network as text', async (test) => {
  test.same(driver.diagnose('x', viewOf({})), [{ section: undefined, id: undefined, field: undefined, message: 'x' }])
  test.match(driver.render(viewOf(ONE)), [{ path: 'addresses and routes', content: /^address 10\.0\.0\.5\/24 dev / }])
  test.same([...driver.prepare(viewOf(ONE))], [])
  test.same(driver.verify(viewOf(ONE)), [])
})

t.test('an undo does not check whether an address is free, and neither does a start', async (test) => {
  const checks = (running: Records | undefined, isReturn?: true) =>
    driver
      .plan(running === undefined ? undefined : viewOf(running), viewOf(TWO), {
        atLeast: 'runtime',
        ...(isReturn === undefined ? {} : { isReturn }),
      })
      .flatMap((step) => (step.kind === 'network' ? step.desired.addresses.map(({ pingCheck }) => pingCheck) : []))
  test.ok(checks(ONE).every(Boolean))
  test.notOk(checks(ONE, true).some(Boolean))
  test.notOk(checks(undefined).some(Boolean))
})
