import t from 'tap'
import { clusterPorts, hostToListenAt, isSamePlace, parseAddress } from '../../../src/membership/node-address.ts'

t.test('a host alone has the given port', (t) => {
  t.same(parseAddress('lb1.example', 9444), { host: 'lb1.example', port: 9444 })
  t.same(parseAddress('[2001:db8::1]:9500', 9444), { host: '2001:db8::1', port: 9500 })
  for (const text of ['', 'a b', '192.0.2.1:0', '192.0.2.1:65533']) t.equal(parseAddress(text, 9444), undefined, text)
  t.equal(hostToListenAt({ host: 'lb1.example' }), '0.0.0.0', 'etcd does not listen on a name')
  t.end()
})

t.test('two are the same place however they are written', (t) => {
  const isSame = (some: string, other: string) => isSamePlace({ host: some, port: 9444 }, { host: other, port: 9444 })
  for (const [some, other] of [
    ['2001:db8::a', '2001:DB8:0::A'],
    ['lb1.example', 'LB1.example'],
    ['192.0.2.1', '192.0.2.1'],
  ] as const)
    t.ok(isSame(some, other), other)
  t.notOk(isSame('192.0.2.1', '192.0.2.2'))
  t.notOk(isSamePlace({ host: '192.0.2.1', port: 9444 }, { host: '192.0.2.1', port: 9445 }))
  t.end()
})

t.test('a cluster takes four ports of a node, at the address where its programs listen', (t) => {
  const peer = { host: '192.0.2.1', port: 9444 }
  const places = (host: string) =>
    clusterPorts({ host, port: 9500 }, peer).map(({ place }) => `${place.host}:${place.port}`)
  t.same(places('192.0.2.9'), ['192.0.2.1:9444', '192.0.2.9:9501', '192.0.2.9:9502', '192.0.2.9:9503'])
  t.same(places('lb1.example').slice(1), ['0.0.0.0:9501', '0.0.0.0:9502', '0.0.0.0:9503'])
  t.same(clusterPorts(undefined, peer), [], 'a single node has none')
  t.end()
})
