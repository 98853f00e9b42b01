import t from 'tap'
import { fullContents, strangeInterfaces } from '../../../src/backup/full-restore.ts'
import { refuseBroken } from '../../../src/config/whole.ts'
import type { SectionContents } from '../../../src/model/sections.ts'
import { EVERYTHING } from '../../fixtures/backup.ts'
import { viewOf } from '../../fixtures/view.ts'

const as = (wanted: string, others: readonly string[] = []) => ({
  born: 'born',
  wanted,
  nodeId: 'node-1',
  others,
  records: [],
})
const LAN = { networkIp: '192.0.2.0', networkMask: 24, gateway: '', defaultGateway: false }
const ids = (records: readonly { readonly id: string }[] | undefined) => records?.map(({ id }) => id)

t.test(
  'a node takes over the records of the node that it becomes; nodes outside of the backup are left out',
  async (test) => {
    const contents = fullContents(EVERYTHING, as('node-2'), undefined)
    test.same(contents.nodeIdentities, [{ id: 'born', nodeId: 'node-2' }])
    test.same(ids(contents.staticIps), ['sip-2'])
    test.same(ids(contents.ipRoutes), ['route-node-2'])
    test.same(ids(contents.conntrackLimits), ['node-2'])
    test.same(ids(contents.userInterfaces), ['node-2'])
    test.same(contents.clocks, [])
    test.same(contents.systemProxies, [])
    test.same(contents.ipGroups?.[0]?.assignedInterfaces, [])
    test.match(contents, {
      realServers: EVERYTHING.realServers,
      users: EVERYTHING.users,
      conntrackTimeouts: [{ id: 'cluster' }],
    })
    await refuseBroken(viewOf(contents))
    test.same(fullContents({}, as('node-1'), undefined).nodeIdentities, [], 'its own identity needs no record')
  },
)

t.test('an SNMP agent at a taken-over address listens there; another is off, with its engine', (test) => {
  const settings = (node: string) => fullContents(EVERYTHING, as(node), undefined).snmpSettings
  test.same(settings('node-1'), EVERYTHING.snmpSettings)
  const [{ engineId, community } = { engineId: '', community: '' }] = EVERYTHING.snmpSettings
  test.match(settings('node-2'), [{ serviceIpId: '', enabledV2: false, enabledV3: false, engineId, community }])
  test.end()
})

t.test('floating IPs are off after a full restore', (test) => {
  test.match(fullContents(EVERYTHING, as('node-1'), undefined).floatingIps, [{ id: 'fip-1', enabled: false }])
  test.end()
})

const subnet = { networkIp: '198.51.100.0', networkMask: 24, gateway: '198.51.100.1', defaultGateway: true }

t.test('the management address is on its interface, in its own group', async (test) => {
  const contents = fullContents(EVERYTHING, as('node-1'), { ip: '198.51.100.7', subnet, interfaceId: 'eth1' })
  const group = contents.ipGroups?.find(({ name }) => name === 'management')
  test.match(group, { ...subnet, assignedInterfaces: [{ nodeId: 'node-1', interfaceId: 'eth1' }] })
  const address = contents.staticIps?.find(({ ip }) => ip === '198.51.100.7')
  test.match(address, { nodeId: 'node-1', groupId: group?.id })
  test.match(contents.userInterfaces, [{ ipId: address?.id }], 'the API is reached there')
  await refuseBroken(viewOf(contents))
})

t.test('a group of the same subnet and a record of the same address are taken over', async (test) => {
  const management = {
    ip: '192.0.2.9',
    interfaceId: 'eth1',
    subnet: { ...subnet, networkIp: '192.0.2.0', gateway: '', defaultGateway: false },
  }
  const contents = fullContents(EVERYTHING, as('node-1'), management)
  test.match(contents.ipGroups, [{ id: 'lan', name: 'lan', assignedInterfaces: [{ interfaceId: 'eth1' }] }])
  test.match(contents.staticIps, [{ id: 'sip-1', groupId: 'lan' }])
  const taken = fullContents(EVERYTHING, as('node-1'), { ...management, ip: '192.0.2.10' })
  test.same(taken.floatingIps, [], 'an address has one kind')
  await refuseBroken(viewOf(taken))
})

t.test('there is only one default route, and a name in use is given up', (test) => {
  const [lan] = EVERYTHING.ipGroups
  const route = {
    ...EVERYTHING.ipRoutes[0],
    id: 'r',
    name: 'out',
    type: 'default',
    destination: '',
    viaIp: '192.0.2.254',
    metric: null,
  }
  const before = {
    ...EVERYTHING,
    ipGroups: [{ ...lan, name: 'Management', gateway: '192.0.2.254', defaultGateway: true }],
    ipRoutes: [route],
  } as SectionContents
  const { ipGroups, ipRoutes } = fullContents(before, as('node-1'), { ip: '198.51.100.7', subnet, interfaceId: 'eth1' })
  test.match(ipGroups, [
    { id: 'lan', name: 'management 2', defaultGateway: false },
    { name: 'management', defaultGateway: true },
  ])
  test.match(ipRoutes, [{ id: 'r', enabled: false }])
  test.end()
})

t.test('interfaces that this machine lacks are reported', (test) => {
  const card = { id: 'x', name: 'eth0', mac: '', mtu: 1500, state: 'up', addresses: [] } as const
  test.same(strangeInterfaces(EVERYTHING, [card], 'node-1'), [])
  test.match(strangeInterfaces(EVERYTHING, [], 'node-1'), [/^IP group lan/, /^route to the office of node-1/])
  test.match(strangeInterfaces(EVERYTHING, [], 'node-2'), [/^route to the office of node-2/], 'of this node alone')
  test.end()
})

t.test("records of the backup's other nodes wait for their replacements", async (test) => {
  const contents = fullContents(EVERYTHING, as('node-2', ['node-1']), undefined)
  test.same(contents.nodeIdentities, [{ id: 'born', nodeId: 'node-2' }])
  for (const section of ['staticIps', 'ipRoutes', 'conntrackLimits', 'userInterfaces', 'clocks'] as const)
    test.same(contents[section], EVERYTHING[section], section)
  test.same(contents.ipGroups, EVERYTHING.ipGroups)
  await refuseBroken(viewOf(contents))
  const there = EVERYTHING.userInterfaces
  const managed = fullContents(EVERYTHING, as('node-2', ['node-1']), {
    ip: '192.0.2.77',
    subnet: LAN,
    interfaceId: 'e1',
  })
  const own = { nodeId: 'node-2', interfaceId: 'e1' }
  test.same(managed.ipGroups?.[0]?.assignedInterfaces, [...(EVERYTHING.ipGroups[0]?.assignedInterfaces ?? []), own])
  test.same(
    managed.userInterfaces?.filter(({ id }) => id === 'node-1'),
    there.filter(({ id }) => id === 'node-1'),
    'the address of another node is left alone',
  )
  await refuseBroken(viewOf(managed))
})
