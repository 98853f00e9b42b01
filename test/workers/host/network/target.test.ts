import t from 'tap'
import type { DesiredNetwork } from '../../../../src/drivers/host.ts'
import { NOTHING } from '../../../../workers/host/network/memory.ts'
import { ourPart, resolve, together } from '../../../../workers/host/network/target.ts'
import { address, kernelState, link } from './kernel-fixture.ts'

const wanted = (ip: string, prefix: number, interfaceId = 'eth0-id') => ({
  ip,
  prefix,
  interfaceId,
  pingCheck: false,
  gateway: undefined,
})
const way = (destination: string, via: string | undefined, interfaceId?: string) => ({
  type: 'unicast' as const,
  destination,
  via,
  interfaceId,
  metric: undefined,
  table: 254,
})
const resolved = (desired: Partial<DesiredNetwork>, kernel = kernelState()) =>
  resolve({ ...NOTHING, ...desired }, kernel, [])

t.test('interfaces by name, addresses in one form, metrics as the kernel counts them', async (test) => {
  const { target, warnings } = resolved({
    addresses: [wanted('2001:DB8::5', 64)],
    routes: [way('::/0', 'FE80::1', 'eth1-id'), { ...way('10.9.1.2/16', undefined), type: 'blackhole', metric: 3 }],
    rules: [{ priority: 1, from: '0.0.0.0/0', to: '10.8.0.0/16', table: 7, suppressPrefixLength: undefined }],
  })
  test.same(warnings, [])
  test.match(target.addresses, [{ link: 'eth0', linkId: 'eth0-id', ip: '2001:db8::5', prefix: 64 }])
  test.match(target.routes, [
    { family: 6, destination: '::/0', via: 'fe80::1', device: 'eth1', metric: 1024 },
    { family: 4, destination: '10.9.0.0/16', type: 'blackhole', via: undefined, device: undefined, metric: 3 },
  ])
  test.match(target.rules, [{ family: 4, from: undefined, to: '10.8.0.0/16' }])
})

t.test('a next hop without an interface is on the narrowest network of wanted and foreign addresses', async (test) => {
  const kernel = kernelState({ addresses: [address('10.0.0.9', 8, 'eth1')] })
  const { target } = resolved({ addresses: [wanted('10.0.0.5', 24)], routes: [way('10.8.0.0/16', '10.0.0.1')] }, kernel)
  test.equal(target.routes[0]?.device, 'eth0')
  test.equal(resolved({ routes: [way('11.0.0.0/8', '10.77.0.1')] }, kernel).target.routes[0]?.device, 'eth1')
})

t.test('our addresses that are to be removed lead nowhere: the previous state makes no difference', async (test) => {
  const kernel = kernelState({ addresses: [address('10.0.0.5', 24)] })
  const owned = [{ linkId: 'eth0-id', ip: '10.0.0.5', prefix: 24 }]
  const { target, warnings } = resolve({ ...NOTHING, routes: [way('11.0.0.0/8', '10.0.0.1')] }, kernel, owned)
  test.same(target.routes, [])
  test.match(warnings, [/its next hop 10.0.0.1 is in no network of this node/])
})

t.test('impossible parts are left out and named once', async (test) => {
  const kernel = kernelState({ links: [link('eth0', false)] })
  const { target, warnings } = resolved(
    {
      addresses: [wanted('10.0.0.5', 24), wanted('10.0.0.6', 24), wanted('10.1.0.5', 24, 'gone')],
      routes: [way('11.0.0.0/8', '10.0.0.1'), way('12.0.0.0/8', undefined, 'gone'), way('13.0.0.0/8', undefined)],
    },
    kernel,
  )
  test.equal(target.addresses.length, 2)
  test.same(target.routes, [])
  test.same(warnings, [
    'interface eth0 is down: its addresses and routes carry no traffic',
    'this node has no interface gone: 10.1.0.5 waits for it',
    'the route to 12.0.0.0/8 waits: this node has no interface gone',
    'the route to 13.0.0.0/8 waits: it has neither a next hop nor an interface',
  ])
})

t.test('ours are routes with our mark, and the remembered addresses that exist', async (test) => {
  const route = {
    family: 4,
    table: 254,
    metric: 0,
    type: 'blackhole',
    via: undefined,
    device: undefined,
    isKernels: false,
  } as const
  const kernel = kernelState({
    addresses: [address('10.0.0.5', 24), address('10.0.0.9', 24)],
    routes: [
      { ...route, destination: '10.8.0.0/16', isOurs: true },
      { ...route, destination: '10.9.0.0/16', isOurs: false },
    ],
  })
  const owned = ['10.0.0.5', '10.0.0.6'].map((ip) => ({ linkId: 'eth0-id', ip, prefix: 24 }))
  const ours = ourPart(kernel, owned)
  test.same(
    ours.addresses.map(({ ip }) => ip),
    ['10.0.0.5'],
  )
  test.same(
    ours.routes.map(({ destination }) => destination),
    ['10.8.0.0/16'],
  )
})

t.test('together: everything of both, a wanted route for ours, an IPv6 address once', async (test) => {
  const ours = resolved({
    addresses: [wanted('10.0.0.5', 24), wanted('2001:db8::5', 64)],
    routes: [way('11.0.0.0/8', '10.0.0.1', 'eth0-id'), way('12.0.0.0/8', '10.0.0.1', 'eth0-id')],
  }).target
  const next = resolved({
    addresses: [wanted('10.0.0.5', 25), wanted('2001:db8::5', 128)],
    routes: [way('11.0.0.0/8', '10.0.0.2', 'eth0-id')],
  }).target
  const both = together(ours, next)
  test.same(
    both.addresses.map(({ ip, prefix }) => `${ip}/${prefix}`),
    ['10.0.0.5/24', '2001:db8::5/64', '10.0.0.5/25'],
  )
  test.same(
    both.routes.map(({ destination, via }) => `${destination} ${via}`),
    ['11.0.0.0/8 10.0.0.2', '12.0.0.0/8 10.0.0.1'],
  )
})
