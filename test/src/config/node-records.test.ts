import t from 'tap'
import { broughtBy, nodeRecords, readNodeRecords, shownRecords } from '../../../src/config/node-records.ts'
import type { IpGroup } from '../../../src/model/network.ts'
import { refuses } from '../../fixtures/config.ts'
import { type Records, viewOf } from '../../fixtures/view.ts'

const NODE = { id: 'new', name: 'lb3' }
const at = (nodeId: string, interfaceId = 'eth0') => ({ nodeId, interfaceId })
const group = (id: string, networkIp: string, more: Partial<IpGroup> = {}): IpGroup => ({
  id,
  name: id,
  networkIp,
  networkMask: networkIp === '' ? 0 : 24,
  gateway: '',
  defaultGateway: false,
  assignedInterfaces: [],
  ...more,
})
const address = (id: string, nodeId: string, groupId: string, ip: string) => ({
  id,
  nodeId,
  groupId,
  ip,
  externalPingCheck: false,
})
const route = (id: string, nodeId: string, name = id) => ({
  id,
  nodeId,
  name,
  type: 'blackhole' as const,
  destination: '198.51.100.0/24',
  source: '',
  viaIp: '',
  interface: '',
  metric: null,
  enabled: true,
})
const ui = (id: string, ipId: string, SSLCertificate = '') => ({ id, apiPort: 9443, ipId, SSLCertificate }) as never

const OWN: Records = {
  ipGroups: [
    group('lan', '192.0.2.0', { assignedInterfaces: [at('new'), at('gone')] }),
    group('service', '198.51.100.0'),
    group('of others', '203.0.113.0', { assignedInterfaces: [at('gone')] }),
  ],
  staticIps: [address('sip', 'new', 'service', '198.51.100.3'), address('old', 'gone', 'lan', '192.0.2.9')],
  ipRoutes: [route('r1', 'new'), route('r2', 'gone')],
  userInterfaces: [ui('new', 'sip', 'own certificate'), ui('gone', '')],
  conntrackLimits: [
    { id: 'new', size: 4096 },
    { id: 'gone', size: 8192 },
  ],
}

t.test('records of one node, and the groups that it is in', async (test) => {
  const found = nodeRecords(viewOf(OWN), 'new')
  test.same(
    Object.entries(found).map(([section, records]) => [
      section,
      (records as readonly { id: string }[]).map(({ id }) => id),
    ]),
    [
      ['conntrackLimits', ['new']],
      ['systemProxies', []],
      ['userInterfaces', ['new']],
      ['clocks', []],
      ['staticIps', ['sip']],
      ['ipRoutes', ['r1']],
      ['nodeIdentities', []],
      ['ipGroups', ['lan', 'service']],
    ],
  )
  test.same(found.ipGroups[0]?.assignedInterfaces, [at('new')])
})

t.test('into a cluster without such records they are copied unchanged, except certificates', async (test) => {
  const brought = broughtBy(viewOf({}), nodeRecords(viewOf(OWN), 'new'), NODE)
  test.match(
    brought.map(({ section, record }) => [section, record]),
    [
      ['ipGroups', { id: 'lan', name: 'lan' }],
      ['ipGroups', { id: 'service' }],
      ['staticIps', { id: 'sip', groupId: 'service' }],
      ['ipRoutes', { id: 'r1', name: 'r1' }],
      ['userInterfaces', { id: 'new', ipId: 'sip', SSLCertificate: '' }],
      ['conntrackLimits', { id: 'new', size: 4096 }],
    ],
  )
  const known = viewOf({ certificates: [{ id: 'own certificate' } as never] })
  test.match(
    broughtBy(known, nodeRecords(viewOf(OWN), 'new'), NODE).find(({ section }) => section === 'userInterfaces'),
    { record: { SSLCertificate: 'own certificate' } },
  )
})

t.test('groups of the same subnet are merged, and duplicates get other ids and names', async (test) => {
  const cluster = viewOf({
    ipGroups: [
      group('theirs', '198.51.100.99', { gateway: '198.51.100.1', assignedInterfaces: [at('old', 'eth1')] }),
      group('lan', '203.0.113.0'),
    ],
    staticIps: [address('sip', 'old', 'theirs', '198.51.100.2')],
    ipRoutes: [route('r1', 'old'), route('r9', 'old', 'r1 (lb3)')],
  })
  const records = nodeRecords(viewOf(OWN), 'new')
  const brought = broughtBy(cluster, records, NODE)
  const of = (section: string) => brought.filter((one) => one.section === section).map(({ record }) => record as never)
  const [lan, service] = of('ipGroups') as readonly IpGroup[]
  test.match(lan, { name: 'lan (lb3)', networkIp: '192.0.2.0', assignedInterfaces: [at('new')] })
  test.not(lan?.id, 'lan')
  test.match(service, { id: 'theirs', gateway: '198.51.100.1', assignedInterfaces: [at('old', 'eth1')] })
  const [sip] = of('staticIps') as readonly { id: string }[]
  test.match(sip, { groupId: 'theirs', ip: '198.51.100.3', nodeId: 'new' })
  test.not(sip?.id, 'sip')
  test.match(of('userInterfaces'), [{ ipId: sip?.id }], 'and references to it')
  const [r1] = of('ipRoutes') as readonly { id: string }[]
  test.match(r1, { name: 'r1 (lb3 2)' })
  test.not(r1?.id, 'r1')
})

t.test('a repetition changes nothing, also where ids and names were in use', async (test) => {
  const records = nodeRecords(viewOf(OWN), 'new')
  const taken = {
    staticIps: [address('sip', 'old', 'g', '203.0.113.9')],
    ipRoutes: [route('r1', 'old')],
    ipGroups: [group('lan', '203.0.113.0')],
  }
  for (const cluster of [{}, taken]) {
    const contents: Record<string, unknown[]> = structuredClone(cluster)
    const brought = broughtBy(viewOf(cluster), records, NODE)
    for (const { section, record } of brought) (contents[section] ??= []).push(record)
    test.same(broughtBy(viewOf(contents), records, NODE), brought)
  }
})

t.test('an address that another node has', async (test) => {
  const records = nodeRecords(viewOf(OWN), 'new')
  const floating = { id: 'f', groupId: 'g', ip: '198.51.100.3', enabled: true }
  for (const view of [
    viewOf({ floatingIps: [floating] }),
    viewOf({ staticIps: [address('x', 'old', 'g', '198.51.100.3')] }),
  ]) {
    await refuses(test, 'IN_USE', () => broughtBy(view, records, NODE))
  }
  test.ok(broughtBy(viewOf({ staticIps: [address('x', 'new', 'g', '198.51.100.3')] }), records, NODE))
})

t.test('a name of maximum length stays within it', async (test) => {
  const name = 'x'.repeat(128)
  const records = nodeRecords(viewOf({ ipRoutes: [route('r1', 'new', name)] }), 'new')
  const [found] = broughtBy(viewOf({ ipRoutes: [route('r2', 'old', name)] }), records, NODE)
  test.match(found?.record, { name: `${'x'.repeat(122)} (lb3)` })
})

t.test('only records of the node are read', async (test) => {
  const own = { ...OWN, userInterfaces: [] }
  const records = nodeRecords(viewOf(own), 'new')
  const sent = JSON.parse(JSON.stringify(records))
  test.same(readNodeRecords(sent, 'new'), records)
  test.same(shownRecords(records), [
    { resource: 'conntrackLimits', name: 'new' },
    { resource: 'staticIps', name: '198.51.100.3' },
    { resource: 'ipRoutes', name: 'r1' },
    { resource: 'ipGroups', name: 'lan' },
    { resource: 'ipGroups', name: 'service' },
  ])
  const wrong = [
    undefined,
    {},
    { ...sent, staticIps: [{ id: 'half' }] },
    { ...sent, staticIps: [...sent.staticIps, address('x', 'old', 'lan', '192.0.2.77')] },
    { ...sent, ipGroups: [...sent.ipGroups, group('of nobody', '203.0.113.0')] },
  ]
  for (const one of wrong) await refuses(test, 'INVALID_BODY', () => readNodeRecords(one, 'new'))
})
