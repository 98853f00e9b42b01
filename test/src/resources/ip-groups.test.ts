import { join } from 'node:path'
import t from 'tap'
import { Tokens } from '../../../src/auth/token.ts'
import { nameBasedId } from '../../../src/base/ids.ts'
import { Members } from '../../../src/membership/members.ts'
import { LmdbConfigStore } from '../../../storage/config/lmdb-config-store.ts'
import { ETH0, ETH1 } from '../../fixtures/appliance.ts'
import { ownAppliance, sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

async function fixture() {
  const made = await borrow()
  const create = (body: Record<string, unknown>) => made.call('POST', '/ipgroups', { body: { name: 'lan', ...body } })
  const created = async (body: Record<string, unknown>) => String((await create(body)).json.data.id)
  const read = async (id: string) => (await made.call('GET', `/ipgroups/${id}`)).json.data
  return { ...made, create, created, read }
}
const LAN = { networkIp: '192.0.2.0', networkMask: 24 }
const problems = (answer: { json: { errors: { field: string }[] } }) => answer.json.errors.map(({ field }) => field)

t.test('a group is created with its subnet, gateway and interfaces, and read as sent', async (test) => {
  const { create, read, node, call } = await fixture()
  const sent = {
    name: 'wan',
    networkIp: '2001:db8::',
    networkMask: 64,
    gateway: '2001:db8::1',
    defaultGateway: true,
    assignedInterfaces: [{ nodeId: node, interfaceId: ETH1 }],
  }
  const answer = await create(sent)
  test.equal(answer.status, 201)
  const { id } = answer.json.data
  test.same(await read(id), { id, ...sent })
  test.same((await call('GET', '/ipgroups')).json.data, [{ id, ...sent }])
})

t.test(
  'omitted interfaces: the one of this node that already has an address of the subnet, otherwise none',
  async (test) => {
    const { created, read, node } = await fixture()
    const known = await read(await created({ name: 'known', ...LAN }))
    test.same(known.assignedInterfaces, [{ nodeId: node, interfaceId: ETH0 }])
    const other = await read(await created({ name: 'other', networkIp: '198.51.100.0', networkMask: 24 }))
    test.same(other.assignedInterfaces, [])
    const none = await read(await created({ name: 'none' }))
    test.same(none, {
      id: none.id,
      name: 'none',
      networkIp: '',
      networkMask: 0,
      gateway: '',
      defaultGateway: false,
      assignedInterfaces: [],
    })
  },
)

t.test('an interface may be sent by name and is stored by id', async (test) => {
  const { created, read, node } = await fixture()
  for (const interfaceId of ['eth1', { name: 'eth1' }]) {
    const id = await created({ name: JSON.stringify(interfaceId), assignedInterfaces: [{ nodeId: node, interfaceId }] })
    test.same((await read(id)).assignedInterfaces, [{ nodeId: node, interfaceId: ETH1 }])
  }
})

t.test('PUT keeps omitted fields and returns its id; null clears', async (test) => {
  const { created, read, call, node } = await fixture()
  const id = await created({ ...LAN, gateway: '192.0.2.1', defaultGateway: true })
  const answer = await call('PUT', `/ipgroups/${id}`, { body: { name: 'renamed' } })
  test.same([answer.status, answer.json.data], [200, { id }])
  const assigned = [{ nodeId: node, interfaceId: ETH0 }]
  const stored = {
    id,
    name: 'renamed',
    ...LAN,
    gateway: '192.0.2.1',
    defaultGateway: true,
    assignedInterfaces: assigned,
  }
  test.same(await read(id), stored)
  const nulls = { networkIp: null, networkMask: null, gateway: null, defaultGateway: null, assignedInterfaces: null }
  test.equal((await call('PUT', `/ipgroups/${id}`, { body: { name: 'renamed', ...nulls } })).status, 200)
  const empty = { networkIp: '', networkMask: 0, gateway: '', defaultGateway: false, assignedInterfaces: [] }
  test.same(await read(id), { id, name: 'renamed', ...empty })
  await call('PUT', `/ipgroups/${id}`, { body: { name: 'renamed', advertInterval: 1 } })
  await call('PUT', `/ipgroups/${id}`, { body: { name: 'renamed', advertInterval: null } })
  test.match(await read(id), { advertInterval: 0.19 }, 'the default that its description names')
})

t.test('unassigned: the groups without an interface on this node, and their count beside data', async (test) => {
  const { created, call, node } = await fixture()
  await created({ name: 'assigned', ...LAN })
  const ids = [await created({ name: 'a' }), await created({ name: 'b' })]
  const answer = await call('GET', '/ipgroups/unassigned')
  test.match(answer.json, { status: 'success', count: 2 })
  test.same(
    answer.json.data.map(({ id }: { id: string }) => id),
    ids,
  )
  const body = { name: 'a', assignedInterfaces: [{ nodeId: node, interfaceId: ETH1 }] }
  await call('PUT', `/ipgroups/${ids[0]}`, { body })
  test.match((await call('GET', '/ipgroups/unassigned')).json, { count: 1, data: [{ id: ids[1] }] })
})

t.test('a group with a static IP cannot be deleted; one without can', async (test) => {
  const { created, call, node } = await fixture()
  const id = await created(LAN)
  const sip = (await call('POST', `/${node}/sips`, { body: { groupId: id, ip: '192.0.2.10' } })).json.data.id
  const refused = await call('DELETE', `/ipgroups/${id}`)
  test.match(refused.json, {
    code: 'IN_USE',
    data: { usage: [{ resource: 'staticIps', id: sip, name: '192.0.2.10' }] },
  })
  await call('DELETE', `/${node}/sips/${sip}?ip=192.0.2.10`)
  test.equal((await call('DELETE', `/ipgroups/${id}`)).status, 200)
  test.equal((await call('GET', `/ipgroups/${id}`)).status, 404)
})

t.test('names are unique', async (test) => {
  const { create } = await fixture()
  await create({ name: 'lan' })
  test.match((await create({ name: 'LAN' })).json, { code: 'NAME_NOT_UNIQUE', errors: [{ field: 'name' }] })
})

t.test('INVALID_BODY: networkIp and networkMask belong together, the mask fits its family', async (test) => {
  const { create } = await fixture()
  for (const [body, fields] of [
    [{ networkIp: '192.0.2.0' }, ['networkMask']],
    [{ networkMask: 24 }, ['networkIp']],
    [{ networkIp: '192.0.2.0', networkMask: 33 }, ['networkMask']],
    [{ networkIp: '2001:db8::', networkMask: 129 }, ['networkMask']],
    [{ networkIp: '192.0.2.0', networkMask: -1 }, ['networkMask']],
    [{ networkIp: 'lan', networkMask: 24 }, ['networkIp']],
    [{ networkIp: '192.0.2.1', networkMask: 24 }, ['networkIp']],
  ] as const) {
    const answer = await create(body)
    test.equal(answer.json.code, 'INVALID_BODY')
    test.same(problems(answer), fields, JSON.stringify(body))
  }
  for (const networkMask of [1, 128]) {
    const networkIp = networkMask === 1 ? '8000::' : '2001:db8::7'
    test.equal((await create({ name: `m${networkMask}`, networkIp, networkMask })).status, 201)
  }
})

t.test('INVALID_BODY: a gateway is inside its network, and a default gateway needs one', async (test) => {
  const { create } = await fixture()
  for (const body of [
    { ...LAN, gateway: '198.51.100.1' },
    { ...LAN, gateway: '2001:db8::1' },
    { ...LAN, gateway: '192.0.2.255' },
    { ...LAN, gateway: '192.0.2.0' },
    { ...LAN, gateway: 'router' },
    { ...LAN, gateway: '127.0.0.1' },
    { gateway: '192.0.2.1' },
    { ...LAN, defaultGateway: true },
  ]) {
    test.same(problems(await create(body)), ['gateway'], JSON.stringify(body))
  }
})

t.test('INVALID_BODY: every problem of a group is named at once', async (test) => {
  const { create, node, call } = await fixture()
  const answer = await create({
    networkIp: '192.0.2.7',
    networkMask: 24,
    gateway: 'x',
    assignedInterfaces: [
      { nodeId: 'elsewhere', interfaceId: ETH0 },
      { nodeId: node, interfaceId: 'eth9' },
      { nodeId: node, interfaceId: ETH1 },
    ],
  })
  test.equal(answer.status, 422)
  test.same(problems(answer), [
    'networkIp',
    'gateway',
    'assignedInterfaces.0.nodeId',
    'assignedInterfaces.1.interfaceId',
    'assignedInterfaces.2.nodeId',
  ])
  test.same((await call('GET', '/ipgroups')).json.data, [], 'and nothing is stored')
})

t.test('INVALID_BODY: a violation of the schema hides nothing else', async (test) => {
  const { call } = await fixture()
  const refused = async (body: object) => problems(await call('POST', '/ipgroups', { body })).toSorted()
  test.same(await refused({ networkIp: '10.0.0.1', networkMask: 24 }), ['name', 'networkIp'])
  const unclear = { networkIp: '10.0.0.0', networkMask: 'x', gateway: '10.0.0.1' }
  test.same(await refused(unclear), ['name', 'networkMask'], 'a gateway in an unknown network')
})

t.test('the id of an interface on an absent node is accepted as sent, and a name is not', async (test) => {
  const prepare = async (state: string) => {
    const tokenKey = new Tokens(join(state, 'token-key.pem')).publicKey
    const store = new LmdbConfigStore(join(state, 'config'))
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of a member, only this is looked at
    await new Members(store.members).add(() => ({ id: 'lb2', name: 'lb2', tokenKey, since: '' }) as never)
    await store.close()
  }
  const { call } = await ownAppliance(test, { prepare })
  const assigned = (nodeId: string, interfaceId = nameBasedId('a card')) => ({
    assignedInterfaces: [{ nodeId, interfaceId }],
  })
  const answer = await call('POST', '/ipgroups', { body: { name: 'lan', ...LAN, ...assigned('lb2') } })
  test.match([answer.status, answer.json.message], [201, /node lb2 is unreachable/])
  const { id } = answer.json.data
  const read = (await call('GET', `/ipgroups/${id}`)).json.data
  test.match(read, assigned('lb2'))
  test.match((await call('PUT', `/ipgroups/${id}`, { body: read })).json, { status: 'success', data: { id } })
  test.same(problems(await call('POST', '/ipgroups', { body: { name: 'wan', ...assigned('lb3', '') } })), [
    'assignedInterfaces.0.nodeId',
  ])
  // It would become the id of an interface that never exists, and the addresses would wait for it.
  test.same(problems(await call('POST', '/ipgroups', { body: { name: 'wan', ...assigned('lb2', 'eth0') } })), [
    'assignedInterfaces.0.interfaceId',
  ])
  const route = { name: 'out', type: 'default', interface: 'eth0' }
  test.same(problems(await call('POST', '/lb2/routes', { body: route })), ['interface'])
  const kept = await call('POST', '/lb2/routes', { body: { ...route, interface: nameBasedId('a card') } })
  test.equal(kept.status, 201, kept.text)
})
