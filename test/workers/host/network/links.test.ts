import t from 'tap'
import { nameBasedId } from '../../../../src/base/ids.ts'
import { interfaceOf, linksOf, parsedJson, type RawLink } from '../../../../workers/host/network/links.ts'

const MAC = '52:54:00:00:00:01'
const card = (more: Partial<RawLink> = {}): RawLink => ({
  ifname: 'eth0',
  flags: ['UP'],
  mtu: 1500,
  address: MAC,
  ...more,
})
const idOf = (raw: RawLink) => linksOf([raw])[0]?.id

t.test('a network interface keeps its id under another name and another MAC address', async (test) => {
  const id = nameBasedId(`interface mac ${MAC}`)
  test.equal(idOf(card()), id)
  test.equal(idOf(card({ ifname: 'enp1s0' })), id)
  test.equal(idOf(card({ address: '02:00:00:00:00:99', permaddr: MAC })), id)
  test.equal(idOf(card({ linkinfo: { info_kind: 'veth' } })), id)
})

t.test('a virtual interface borrows its MAC address, so it is identified by kind and name', async (test) => {
  for (const kind of ['vlan', 'bridge', 'bond', 'macvlan']) {
    const raw = card({ ifname: 'x0', linkinfo: { info_kind: kind } })
    test.equal(idOf(raw), nameBasedId(`interface ${kind} x0`))
  }
  test.equal(
    idOf(card({ ifname: 'tun0', address: '', linkinfo: { info_kind: 'tun' } })),
    nameBasedId('interface tun tun0'),
  )
})

t.test('two interfaces with one MAC address are distinguished by name', async (test) => {
  const ids = linksOf([card(), card({ ifname: 'eth1' })]).map(({ id }) => id)
  test.equal(new Set(ids).size, 2)
})

t.test('loopback is left out, and an interface is shown without link-local addresses', async (test) => {
  const links = linksOf([
    { ifname: 'lo', flags: ['LOOPBACK', 'UP'] },
    card({
      ifname: 'm1@eth0',
      operstate: 'LOWERLAYERDOWN',
      linkinfo: { info_kind: 'macvlan' },
      addr_info: [
        { family: 'inet', local: '169.254.1.1', prefixlen: 16, scope: 'link' },
        { family: 'inet6', local: '2001:DB8:0::1', prefixlen: 64, scope: 'global' },
        { family: 'inet6', local: 'fe80::1', prefixlen: 64, scope: 'link' },
        { family: 'inet6', local: 'fe80::2', prefixlen: 64, scope: '253' },
      ],
    }),
  ])
  test.same(links.map(interfaceOf), [
    {
      id: nameBasedId('interface macvlan m1@eth0'),
      name: 'm1',
      mac: MAC,
      mtu: 1500,
      state: 'down',
      addresses: [
        { ip: '169.254.1.1', prefix: 16 },
        { ip: '2001:db8::1', prefix: 64 },
      ],
    },
  ])
  const states = ['UP', 'UNKNOWN', 'DOWN', 'DORMANT'].map((operstate) =>
    linksOf([card({ operstate })]).map(interfaceOf),
  )
  test.same(
    states.map(([one]) => one?.state),
    ['up', 'unknown', 'down', 'down'],
  )
})

t.test('output of iproute2 before its JSON is skipped; invalid JSON is an error with its text', async (test) => {
  test.same(parsedJson('a warning\n[{"a":1},{}]'), [{ a: 1 }])
  test.same(parsedJson(' '), [])
  test.throws(() => parsedJson('Cannot open netlink socket'), /Cannot open netlink socket/)
})
