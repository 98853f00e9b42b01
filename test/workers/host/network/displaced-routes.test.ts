import t from 'tap'
import { displacedRoutes } from '../../../../workers/host/network/displaced-routes.ts'

const ROUTE = {
  family: 4,
  table: 254,
  destination: '0.0.0.0/0',
  metric: 100,
  type: 'unicast',
  via: '10.0.0.1',
  device: 'eth0',
} as const

t.test('a route becomes the arguments that recreate it, without its transient state', async (test) => {
  const output = [
    'default via 10.0.0.9 dev eth0 ',
    'default proto dhcp metric 100 linkdown \\\tnexthop via 10.0.0.1 dev eth0 weight 1 dead \\\tnexthop via 10.0.0.2 dev eth0 weight 2',
  ].join('\n')
  const asked: (readonly string[])[] = []
  const run = async (argv: readonly string[]) => {
    asked.push(argv)
    return { exitCode: 0, output }
  }
  test.same(await displacedRoutes([ROUTE], run, 1000), [
    {
      key: '4 254 0.0.0.0/0 100',
      family: 4,
      text: 'default proto dhcp metric 100 nexthop via 10.0.0.1 dev eth0 weight 1 nexthop via 10.0.0.2 dev eth0 weight 2 table 254',
    },
  ])
  test.same(asked, [['ip', '-4', '-o', 'route', 'show', 'table', '254', 'exact', '0.0.0.0/0']])
  test.match(await displacedRoutes([{ ...ROUTE, metric: 0 }], run, 1000), [
    { text: 'default via 10.0.0.9 dev eth0 table 254' },
  ])
  test.same(await displacedRoutes([{ ...ROUTE, metric: 5 }], run, 1000), [], 'gone in the meantime')
})

t.test('an expiring lifetime is no argument', async (test) => {
  const output = 'default via fe80::1 dev eth0 proto ra metric 1024 expires 1799sec hoplimit 64 pref medium'
  const run = async () => ({ exitCode: 0, output })
  const route = { ...ROUTE, family: 6 as const, destination: '::/0', metric: 1024 }
  test.match(await displacedRoutes([route], run, 1000), [
    { text: 'default via fe80::1 dev eth0 proto ra metric 1024 hoplimit 64 pref medium table 254' },
  ])
})
