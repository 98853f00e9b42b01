import t from 'tap'
import { ETH1 } from '../../fixtures/appliance.ts'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

async function fixture() {
  const made = await borrow()
  const { call, node } = made
  const body = { name: 'lan', networkIp: '192.0.2.0', networkMask: 24, gateway: '192.0.2.1' }
  const group = String((await call('POST', '/ipgroups', { body })).json.data.id)
  const path = `/${node}/sips`
  const create = (sent: Record<string, unknown>) => call('POST', path, { body: { groupId: group, ...sent } })
  const created = async (sent: Record<string, unknown>) => String((await create(sent)).json.data.id)
  const read = async (id: string) => (await call('GET', `${path}/${id}`)).json.data
  return { ...made, group, path, create, created, read }
}
const frontend = (ip: string) => ({ name: `on ${ip}`, mode: 'http', ip, ports: '80' })

t.test('a static IP is created, listed and read; the ping check is on unless it is switched off', async (test) => {
  const { create, created, read, call, path, group } = await fixture()
  const answer = await create({ ip: '192.0.2.10' })
  test.equal(answer.status, 201)
  const { id } = answer.json.data
  test.same(await read(id), { id, groupId: group, ip: '192.0.2.10', externalPingCheck: true })
  const other = await created({ ip: '192.0.2.11', externalPingCheck: false })
  test.equal((await read(other)).externalPingCheck, false)
  test.same((await call('GET', path)).json.data, [await read(id), await read(other)])
})

t.test('externalPingCheck is true by default, and an edit keeps it', async (test) => {
  const { created, read, call, path, group } = await fixture()
  const id = await created({ ip: '192.0.2.10', externalPingCheck: false })
  const answer = await call('PUT', `${path}/${id}`, { body: { groupId: group, ip: '192.0.2.12' } })
  test.same([answer.status, answer.json.data], [200, undefined])
  test.same(await read(id), { id, groupId: group, ip: '192.0.2.12', externalPingCheck: false })
})

t.test('groupId and ip are required on create and edit', async (test) => {
  const { created, call, path } = await fixture()
  const id = await created({ ip: '192.0.2.10' })
  for (const [method, where] of [
    ['POST', path],
    ['PUT', `${path}/${id}`],
  ] as const) {
    const answer = await call(method, where, { body: {} })
    test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field: 'groupId' }, { field: 'ip' }] })
  }
})

t.test('INVALID_BODY: an address outside its network, or one that no host can have', async (test) => {
  const { create } = await fixture()
  for (const ip of ['198.51.100.1', '192.0.2.0', '192.0.2.255', '192.0.2.1', '2001:db8::1', 'x']) {
    test.match((await create({ ip })).json, { code: 'INVALID_BODY', errors: [{ field: 'ip' }] }, ip)
  }
})

t.test('in a group without a subnet every host address is possible', async (test) => {
  const { call, path } = await fixture()
  const groupId = (await call('POST', '/ipgroups', { body: { name: 'loose' } })).json.data.id
  for (const ip of ['203.0.113.7', '2001:db8::7']) {
    test.equal((await call('POST', path, { body: { groupId, ip } })).status, 201, ip)
  }
  for (const ip of ['127.0.0.1', '0.0.0.0', '224.0.0.1', '::1', 'ff02::1']) {
    test.match((await call('POST', path, { body: { groupId, ip } })).json, { errors: [{ field: 'ip' }] }, ip)
  }
})

t.test('INVALID_BODY: an unknown group', async (test) => {
  const { create } = await fixture()
  test.match((await create({ groupId: 'none', ip: '192.0.2.10' })).json, {
    code: 'INVALID_BODY',
    errors: [{ field: 'groupId' }],
  })
})

t.test('NAME_NOT_UNIQUE on field ip, however the address is written', async (test) => {
  const { call, path } = await fixture()
  const groupId = (await call('POST', '/ipgroups', { body: { name: 'loose' } })).json.data.id
  const add = (ip: string) => call('POST', path, { body: { groupId, ip } })
  const id = (await add('2001:DB8:0::7')).json.data.id
  test.equal((await call('GET', `${path}/${id}`)).json.data.ip, '2001:db8::7')
  test.match((await add('2001:db8:0:0::7')).json, { code: 'NAME_NOT_UNIQUE', errors: [{ field: 'ip' }] })
})

t.test('PUT: an address in use stays: 409 IN_USE', async (test) => {
  const { created, call, path, group, read } = await fixture()
  const id = await created({ ip: '192.0.2.10' })
  await call('POST', '/layer7proxy/frontends', { body: frontend('192.0.2.10') })
  const refused = await call('PUT', `${path}/${id}`, { body: { groupId: group, ip: '192.0.2.11' } })
  test.match(refused.json, { code: 'IN_USE', data: { usage: [{ resource: 'l7Frontends', name: 'on 192.0.2.10' }] } })
  const same = { groupId: group, ip: '192.0.2.10', externalPingCheck: false }
  test.equal((await call('PUT', `${path}/${id}`, { body: same })).status, 200, 'everything else may change')
  test.equal((await read(id)).externalPingCheck, false)
})

t.test('DELETE needs the address: absent INVALID_QUERY, another 409 IP_MISMATCH, in use 409 IN_USE', async (test) => {
  const { created, call, path } = await fixture()
  const id = await created({ ip: '192.0.2.10' })
  test.match((await call('DELETE', `${path}/${id}`)).json, { code: 'INVALID_QUERY', errors: [{ field: 'ip' }] })
  const mismatch = await call('DELETE', `${path}/${id}?ip=192.0.2.11`)
  test.match([mismatch.status, mismatch.json.code], [409, 'IP_MISMATCH'])
  const listener = (await call('POST', '/layer7proxy/frontends', { body: frontend('192.0.2.10') })).json.data.id
  const used = await call('DELETE', `${path}/${id}?ip=192.0.2.10`)
  test.match(used.json, { code: 'IN_USE', data: { usage: [{ resource: 'l7Frontends', id: listener, field: 'ip' }] } })
  await call('DELETE', `/layer7proxy/frontends/${listener}`)
  test.equal((await call('DELETE', `${path}/${id}?ip=192.0.2.10`)).status, 200)
  test.equal((await call('GET', `${path}/${id}`)).status, 404)
})

t.test('an address is in use however its listener writes it', async (test) => {
  const { call, path } = await fixture()
  const groupId = (await call('POST', '/ipgroups', { body: { name: 'loose' } })).json.data.id
  const id = (await call('POST', path, { body: { groupId, ip: '2001:db8::7' } })).json.data.id
  await call('POST', '/layer7proxy/frontends', { body: frontend('2001:DB8:0::7') })
  test.match((await call('DELETE', `${path}/${id}?ip=2001:db8:0:0::7`)).json, { code: 'IN_USE' })
})

t.test('an address that the API listens on stays: 409 IN_USE', async (test) => {
  const { created, call, path, group, node } = await fixture()
  const id = await created({ ip: '192.0.2.10' })
  const listening = await call('PUT', `/${node}/system/userinterface`, { body: { apiPort: 9443, ipId: id } })
  test.equal(listening.status, 200, listening.text)
  test.match((await call('DELETE', `${path}/${id}?ip=192.0.2.10`)).json, { code: 'IN_USE' })
  const moved = await call('PUT', `${path}/${id}`, { body: { groupId: group, ip: '192.0.2.11' } })
  test.match(moved.json, { code: 'IN_USE' })
})

t.test('apply: an address whose group has no interface is named; one in use does not lose it', async (test) => {
  const { created, call, group, node } = await fixture()
  const applied = () => call('PUT', '/services/apply', { body: { comment: 'x' } })
  await created({ ip: '192.0.2.10' })
  await created({ ip: '192.0.2.11' })
  test.same((await applied()).json.data.warnings, [])
  const { name, networkIp, networkMask } = (await call('GET', `/ipgroups/${group}`)).json.data
  const withInterfaces = (assignedInterfaces: readonly object[]) =>
    call('PUT', `/ipgroups/${group}`, { body: { name, networkIp, networkMask, assignedInterfaces } })
  await withInterfaces([])
  const unmade = `is not added: its IP group ${name} has no interface on this node`
  test.match((await applied()).json.data.warnings, [
    { code: 'REMARK', message: `static IP 192.0.2.10 ${unmade}` },
    { code: 'REMARK', message: `static IP 192.0.2.11 ${unmade}` },
  ])
  await withInterfaces([{ nodeId: node, interfaceId: 'eth0' }])
  const id = (await call('POST', '/layer7proxy/frontends', { body: frontend('192.0.2.10') })).json.data.id
  test.match((await applied()).json.data.warnings, [{ code: 'NO_SERVER_LEFT' }], 'a frontend without a backend')
  await withInterfaces([])
  const refused = await applied()
  test.not(refused.status, 200)
  test.match(refused.text, `IP group ${name} no longer has an interface on the node`)
  test.match(refused.text, id)
})

t.test('ping: the gateway of the group, or the named target, from the address', async (test) => {
  const { created, call, path, machine } = await fixture()
  const id = await created({ ip: '192.0.2.10' })
  const asked: string[] = []
  Object.assign(machine.facts, {
    ping: async (from: string, to: string) => {
      asked.push(`${from} ${to}`)
      const ok = to === '192.0.2.1'
      return { ok, sent: 3, received: ok ? 3 : 0, roundTrip_ms: ok ? 0.5 : null, reason: ok ? undefined : 'lost' }
    },
  })
  const gateway = await call('POST', `${path}/${id}/ping`)
  test.same(gateway.json.data, {
    ok: true,
    from: '192.0.2.10',
    to: '192.0.2.1',
    sent: 3,
    received: 3,
    roundTripMs: 0.5,
    reason: null,
  })
  const named = await call('POST', `${path}/${id}/ping`, { body: { to: '198.51.100.9' } })
  test.equal(named.status, 200, 'the test worked, the other machine did not answer')
  test.match(named.json.data, { ok: false, received: 0, roundTripMs: null, reason: 'lost' })
  test.same(asked, ['192.0.2.10 192.0.2.1', '192.0.2.10 198.51.100.9'])
})

t.test('ping: INVALID_BODY without gateway and target, or with a target of the other family', async (test) => {
  const { created, call, path, node } = await fixture()
  const body = { name: 'loose', assignedInterfaces: [{ nodeId: node, interfaceId: ETH1 }] }
  const groupId = (await call('POST', '/ipgroups', { body })).json.data.id
  const id = await created({ groupId, ip: '203.0.113.7' })
  for (const sent of [{}, { to: '2001:db8::1' }, { to: 'x' }]) {
    const refused = await call('POST', `${path}/${id}/ping`, { body: sent })
    test.match(refused.json, { code: 'INVALID_BODY', errors: [{ field: 'to' }] })
  }
})
