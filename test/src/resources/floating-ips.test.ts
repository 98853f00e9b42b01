import t from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

async function fixture() {
  const made = await borrow()
  const { call } = made
  const body = { name: 'lan', networkIp: '192.0.2.0', networkMask: 24, gateway: '192.0.2.1' }
  const group = String((await call('POST', '/ipgroups', { body })).json.data.id)
  const create = (sent: Record<string, unknown>) => call('POST', '/fips', { body: { groupId: group, ...sent } })
  const created = async (ip: string) => String((await create({ ip })).json.data.id)
  return { ...made, group, create, created }
}
const frontend = (ip: string) => ({ name: `on ${ip}`, mode: 'http', ip, ports: '80' })

t.test('a floating IP is created, listed, read, changed and deleted', async (test) => {
  const { call, create, group } = await fixture()
  const answer = await create({ ip: '192.0.2.10' })
  test.equal(answer.status, 201)
  const { id } = answer.json.data
  const made = { id, groupId: group, ip: '192.0.2.10', enabled: true, holder: null, since: null }
  test.same((await call('GET', `/fips/${id}`)).json.data, made)
  test.same((await call('GET', '/fips')).json.data, [made])
  const body = { groupId: group, ip: '192.0.2.11', enabled: false }
  test.equal((await call('PUT', `/fips/${id}`, { body })).status, 200)
  test.equal((await call('PUT', `/fips/${id}`, { body: { groupId: group, ip: '192.0.2.12' } })).status, 200)
  test.same(
    (await call('GET', `/fips/${id}`)).json.data,
    { ...made, ip: '192.0.2.12', enabled: false },
    'an omitted field stays',
  )
  test.equal((await call('DELETE', `/fips/${id}`)).status, 200)
  test.same((await call('GET', '/fips')).json.data, [])
})

t.test('it is in the subnet of its IP group, stored in its shortest form, and unique', async (test) => {
  const { call, create, created, node, group } = await fixture()
  for (const ip of ['198.51.100.1', '192.0.2.0', '192.0.2.255', '192.0.2.1']) {
    test.match((await create({ ip })).json, { code: 'INVALID_BODY', errors: [{ field: 'ip' }] }, ip)
  }
  await call('POST', `/${node}/sips`, { body: { groupId: group, ip: '192.0.2.9' } })
  test.match((await create({ ip: '192.0.2.9' })).json, { code: 'NAME_NOT_UNIQUE', errors: [{ field: 'ip' }] })
  await created('192.0.2.10')
  test.match((await create({ ip: '192.0.2.10' })).json, { code: 'NAME_NOT_UNIQUE' })
  test.match((await create({ ip: '192.0.2.11', groupId: 'nope' })).json, {
    code: 'INVALID_BODY',
    errors: [{ field: 'groupId' }],
  })
  await call('POST', `/${node}/sips`, { body: { groupId: group, ip: '192.0.2.10' } })
  test.match((await call('PUT', '/services/apply')).json, { code: 'CONFIG_INVALID', message: /also a static IP/ })
})

t.test('IN_USE: an address in use by a frontend stays', async (test) => {
  const { call, created, group } = await fixture()
  const id = await created('192.0.2.10')
  await call('POST', '/layer7proxy/frontends', { body: frontend('192.0.2.10') })
  test.match((await call('DELETE', `/fips/${id}`)).json, {
    code: 'IN_USE',
    data: { usage: [{ name: 'on 192.0.2.10' }] },
  })
  const moved = { groupId: group, ip: '192.0.2.11' }
  test.match((await call('PUT', `/fips/${id}`, { body: moved })).json, { code: 'IN_USE' })
  test.match((await call('DELETE', `/ipgroups/${group}`)).json, { code: 'IN_USE' })
})

t.test('a disabled one is removed from the node and lets its frontends rest, until it is enabled', async (test) => {
  const { call, created, group, machine } = await fixture()
  const id = await created('192.0.2.10')
  await call('POST', '/layer7proxy/frontends', { body: frontend('192.0.2.10') })
  await call('PUT', '/services/apply')
  const switched = async (enabled: boolean) => {
    await call('PUT', `/fips/${id}`, { body: { groupId: group, ip: '192.0.2.10', enabled } })
    test.match((await call('GET', '/services/pending')).json.data.changes, [
      { effect: 'network', services: ['network', 'layer7proxy'] },
    ])
    machine.host.takeJournal()
    test.equal((await call('PUT', '/services/apply')).status, 200)
    return JSON.stringify(machine.host.journal)
  }
  test.match(await switched(false), /rests: its floating IP is disabled/)
  test.match(await switched(true), /bind 192\.0\.2\.10:80/)
})

t.test('a preferred node is one of the cluster, and null clears it', async (test) => {
  const { call, create, node } = await fixture()
  test.match((await create({ ip: '192.0.2.10', preferredNode: 'nobody' })).json, {
    code: 'INVALID_BODY',
    errors: [{ field: 'preferredNode' }],
  })
  const { id } = (await create({ ip: '192.0.2.10', preferredNode: node })).json.data
  test.match((await call('GET', `/fips/${id}`)).json.data, { preferredNode: node })
  test.match((await call('PUT', `/fips/${id}`, { body: { preferredNode: 'nobody' } })).json, { code: 'INVALID_BODY' })
  test.equal((await call('PUT', `/fips/${id}`, { body: { preferredNode: null } })).status, 200)
  test.match((await call('GET', `/fips/${id}`)).json.data, { preferredNode: '' })
})

t.test('a node without a cluster moves nothing', async (test) => {
  const { call, created, node } = await fixture()
  const id = await created('192.0.2.10')
  const move = (body: object) => call('PUT', `/fips/${id}/move`, { body })
  test.match(await move({ nodeId: node }), { status: 404, json: { code: 'NOT_FOUND', message: /not in a cluster/ } })
  test.match(await move({}), { status: 422, json: { errors: [{ field: 'nodeId' }] } })
})
