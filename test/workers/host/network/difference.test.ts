import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { Value } from 'typebox/value'
import { desiredNetwork } from '../../../../src/drivers/iproute2/desired.ts'
import { verifyNetwork } from '../../../../src/drivers/iproute2/verify.ts'
import { SECTIONS } from '../../../../src/model/sections.ts'
import { type Comparison, differenceOf, isSame } from '../../../../workers/host/network/difference.ts'
import type { KernelState } from '../../../../workers/host/network/kernel-state.ts'
import { resolve } from '../../../../workers/host/network/target.ts'
import { NODE } from '../../../src/drivers/iproute2/network-records.ts'
import { type Records, viewOf } from '../../../fixtures/view.ts'
import { address, kernelState } from './kernel-fixture.ts'

const GOLDEN = new URL('../../../golden/iproute2/', import.meta.url)

const NONE = { addresses: [], routes: [], rules: [] } as const

const comparison = (more: Partial<Comparison>): Comparison => ({
  kernel: kernelState(),
  target: NONE,
  owned: [],
  displaced: [],
  refused: new Set(),
  isOrdered: true,
  ...more,
})

const wanted = (ip: string, prefix: number) => ({ ...address(ip, prefix), pingCheck: false, gateway: undefined })
const owned = (...texts: readonly string[]) =>
  texts.map((text) => ({ linkId: 'eth0-id', ip: text.split('/')[0] ?? '', prefix: Number(text.split('/')[1]) }))
const route = (destination: string, more: Partial<KernelState['routes'][number]> = {}) => ({
  family: 4 as const,
  table: 254,
  destination,
  metric: 0,
  type: 'blackhole',
  via: undefined,
  device: undefined,
  isOurs: true,
  isKernels: false,
  ...more,
})

t.test('a network in its wanted state needs nothing', async (test) => {
  const kernel = kernelState({ addresses: [address('10.0.0.5', 24)], routes: [route('10.9.0.0/16')] })
  const target = { ...NONE, addresses: [wanted('10.0.0.5', 24)], routes: [route('10.9.0.0/16')] }
  test.ok(isSame(differenceOf(comparison({ kernel, target, owned: owned('10.0.0.5/24') }))))
})

t.test('make before break: addresses, routes, rules, then the removal of rules, routes, addresses', async (test) => {
  const rule = { family: 4 as const, from: '10.0.0.5/32', to: undefined, table: 7, suppressPrefixLength: undefined }
  const kernel = kernelState({
    addresses: [address('10.0.0.5', 24)],
    routes: [route('10.8.0.0/16')],
    rules: [{ ...rule, priority: 1, isOurs: true }],
  })
  const target = {
    addresses: [wanted('10.0.0.6', 24)],
    routes: [route('10.9.0.0/16')],
    rules: [{ ...rule, priority: 2 }],
  }
  test.same(differenceOf(comparison({ kernel, target, owned: owned('10.0.0.5/24') })).lines[4], [
    'address add 10.0.0.6/24 brd + dev eth0',
    'route replace blackhole 10.9.0.0/16 table 254 proto 70',
    'rule add from 10.0.0.5/32 priority 2 table 7 protocol 70',
    'rule del from 10.0.0.5/32 priority 1 table 7 protocol 70',
    'route del blackhole 10.8.0.0/16 table 254 proto 70',
    'address del 10.0.0.5/24 dev eth0',
  ])
})

t.test('our IPv6 address of another prefix length has to be replaced, a foreign one will do', async (test) => {
  const kernel = kernelState({ addresses: [address('2001:db8::5', 64)] })
  const target = { ...NONE, addresses: [wanted('2001:db8::5', 128)] }
  test.same(differenceOf(comparison({ kernel, target, owned: owned('2001:db8::5/64') })).lines[6], [
    'address del 2001:db8::5/64 dev eth0',
    'address add 2001:db8::5/128 dev eth0 nodad',
  ])
  test.ok(isSame(differenceOf(comparison({ kernel, target }))))
})

t.test(
  'a foreign route in our place is displaced, restored with the removal of ours, and dropped when refused',
  async (test) => {
    const foreign = route('0.0.0.0/0', { type: 'unicast', via: '10.0.0.9', device: 'eth0', isOurs: false })
    const ours = { ...foreign, via: '10.0.0.1', isOurs: true }
    const taking = differenceOf(
      comparison({ kernel: kernelState({ routes: [foreign] }), target: { ...NONE, routes: [ours] } }),
    )
    test.same(taking.displaces, [foreign])
    test.same(taking.lines[4], ['route replace 0.0.0.0/0 via 10.0.0.1 dev eth0 onlink table 254 proto 70'])
    const displaced = [
      { key: '4 254 0.0.0.0/0 0', family: 4 as const, text: 'default via 10.0.0.9 dev eth0 table 254' },
    ]
    const kernel = kernelState({ routes: [ours] })
    const back = differenceOf(comparison({ kernel, displaced }))
    test.same(back.lines[4], ['route replace default via 10.0.0.9 dev eth0 table 254'], 'in one move')
    const given = differenceOf(comparison({ kernel, displaced, refused: new Set(['4 254 0.0.0.0/0 0']) }))
    test.same(given.lines[4], ['route del 0.0.0.0/0 via 10.0.0.1 dev eth0 onlink table 254 proto 70'])
    test.ok(
      isSame(differenceOf(comparison({ kernel: kernelState({ routes: [foreign] }), displaced }))),
      'restored already',
    )
  },
)

t.test('addresses out of order are removed and added again, but only when settling', async (test) => {
  const kernel = kernelState({ addresses: [address('10.0.0.7', 24), address('10.0.0.5', 24, 'eth0', true)] })
  const target = { ...NONE, addresses: ['10.0.0.5', '10.0.0.6', '10.0.0.7'].map((ip) => wanted(ip, 24)) }
  const both = { kernel, target, owned: owned('10.0.0.5/24', '10.0.0.7/24') }
  const settled = differenceOf(comparison(both))
  test.same(settled.lines[4], [
    'address del 10.0.0.5/24 dev eth0',
    'address add 10.0.0.5/24 brd + dev eth0',
    'address add 10.0.0.6/24 brd + dev eth0',
    'address del 10.0.0.7/24 dev eth0',
    'address add 10.0.0.7/24 brd + dev eth0',
  ])
  test.same(settled.promotes, ['eth0'])
  const added = differenceOf(comparison({ ...both, isOrdered: false }))
  test.same(added.lines[4], ['address add 10.0.0.6/24 brd + dev eth0'])
})

t.test('addresses named by routes of others stay out of order', async (test) => {
  const addresses = [address('10.0.0.7', 24), address('10.0.0.5', 24, 'eth0', true)]
  const target = { ...NONE, addresses: ['10.0.0.5', '10.0.0.7'].map((ip) => wanted(ip, 24)) }
  const linesWith = (...sources: readonly string[]) => {
    const kernel = kernelState({ addresses, sources: new Set(sources) })
    return differenceOf(comparison({ kernel, target, owned: owned('10.0.0.5/24', '10.0.0.7/24') })).lines[4]
  }
  test.equal(linesWith().length, 4)
  test.same(linesWith('10.0.0.7'), [])
  test.same(linesWith('10.0.0.5'), [])
  test.equal(linesWith('10.0.0.99').length, 4)
})

t.test('routes of others are remembered when the last IPv4 address of their interface is removed', async (test) => {
  const others = route('10.7.0.0/16', { type: 'unicast', device: 'eth0', isOurs: false })
  const routes = [others, { ...others, destination: '10.0.0.0/24', isKernels: true }, { ...others, device: 'eth1' }]
  const one = kernelState({ addresses: [address('10.0.0.5', 24)], routes })
  test.same(differenceOf(comparison({ kernel: one, owned: owned('10.0.0.5/24') })).displaces, [others])
  const two = kernelState({ addresses: [address('10.0.0.5', 24), address('10.1.0.5', 24)], routes })
  test.same(differenceOf(comparison({ kernel: two, owned: owned('10.0.0.5/24') })).displaces, [])
})

t.test('only the removal of a first address before others needs them kept', async (test) => {
  const leaving = (ip: string, ...addresses: KernelState['addresses']) =>
    differenceOf(comparison({ kernel: kernelState({ addresses }), owned: owned(`${ip}/24`) })).promotes
  const [first, second] = [address('10.0.0.5', 24), address('10.0.0.6', 24, 'eth0', true)]
  test.same(leaving('10.0.0.5', first), [])
  test.same(leaving('10.0.0.5', first, second), ['eth0'])
  test.same(leaving('10.0.0.6', first, second), [])
  test.same(leaving('10.0.0.5', first, address('10.0.1.5', 24)), [], 'another subnet')
})

/** Records of one node, and the two batches that make their network on a fresh kernel. */
for (const name of readdirSync(GOLDEN).filter((file) => file.endsWith('.json'))) {
  t.test(`golden ${name}`, async (test) => {
    const records: Records = JSON.parse(readFileSync(new URL(name, GOLDEN), 'utf8'))
    for (const section of ['ipGroups', 'staticIps', 'floatingIps', 'ipRoutes'] as const) {
      for (const record of records[section] ?? []) {
        test.ok(Value.Check(SECTIONS[section].schema, record), `${section} ${record.id} fits its schema`)
      }
    }
    const view = viewOf(records)
    test.same(verifyNetwork(view, NODE), [])
    const kernel = kernelState()
    const { target, warnings } = resolve(desiredNetwork(view, NODE), kernel, [])
    test.same(warnings, [])
    const { lines } = differenceOf(comparison({ kernel, target }))
    const text = `# ip -4 -force -batch -\n${lines[4].join('\n')}\n# ip -6 -force -batch -\n${lines[6].join('\n')}\n`
    test.equal(text, readFileSync(new URL(name.replace('.json', '.batch'), GOLDEN), 'utf8'))
  })
}
