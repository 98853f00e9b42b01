import t from 'tap'
import { textOf } from '../../../../src/drivers/iproute2/text.ts'

t.test('an address, each kind of route and each kind of rule as one line', async (test) => {
  const route = { type: 'unicast', via: '10.0.0.1', interfaceId: undefined, metric: undefined, table: 254 } as const
  const rule = { priority: 10_001, from: '10.0.0.5/32', to: undefined, table: 12_345, suppressPrefixLength: undefined }
  const text = textOf({
    addresses: [{ ip: '10.0.0.5', prefix: 24, interfaceId: 'card', pingCheck: true, gateway: undefined }],
    routes: [
      { ...route, destination: '0.0.0.0/0', metric: 10 },
      { ...route, destination: '198.51.100.0/24', interfaceId: 'card' },
      { ...route, type: 'blackhole', via: undefined, destination: '203.0.113.0/24' },
    ],
    rules: [
      { ...rule, priority: 10_000, table: 254, suppressPrefixLength: 0 },
      { ...rule, to: '192.0.2.0/24' },
    ],
  })
  test.same(text.split('\n'), [
    'address 10.0.0.5/24 dev card',
    'route 0.0.0.0/0 via 10.0.0.1 metric 10 table 254',
    'route 198.51.100.0/24 via 10.0.0.1 dev card table 254',
    'route blackhole 203.0.113.0/24 table 254',
    'rule 10000: from 10.0.0.5/32 lookup 254 suppress_prefixlength 0',
    'rule 10001: from 10.0.0.5/32 to 192.0.2.0/24 lookup 12345',
    '',
  ])
  test.equal(textOf({ addresses: [], routes: [], rules: [] }), '')
})
