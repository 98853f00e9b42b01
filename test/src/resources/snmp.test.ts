import t, { type Test } from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

const OFF = {
  enabledV2: false,
  enabledV3: false,
  community: '',
  location: '',
  contact: '',
  serviceIpId: '',
  port: 161,
}

async function fixture(test: Test) {
  const { call, node, machine, anonymous, login } = await borrow()
  const create = async (path: string, body: object) => String((await call('POST', path, { body })).json.data.id)
  const groupId = await create('/ipgroups', { name: 'lan', networkIp: '198.51.100.0', networkMask: 24 })
  const ip = await create(`/${node}/sips`, { groupId, ip: '198.51.100.10', externalPingCheck: false })
  const floating = await create('/fips', { groupId, ip: '198.51.100.20' })
  const put = (body: object) => call('PUT', '/snmp', { body })
  const read = async () => (await call('GET', '/snmp')).json.data
  /** Returns snmpd.conf as an apply would write it. */
  const applied = async () => {
    machine.host.takeJournal()
    const answer = await call('PUT', '/services/apply')
    test.equal(answer.status, 200, answer.text)
    return machine.host.journal.flatMap((entry) =>
      entry.verb === 'replaceFile' && entry.path === '/etc/snmp/snmpd.conf.candidate' ? [entry.content] : [],
    )
  }
  return { call, node, anonymous, login, ip, floating, groupId, put, read, applied, machine }
}

t.test('when unset: all off, on the usual port, and the machine is left as it is', async (test) => {
  const { call, applied } = await fixture(test)
  const { json } = await call('GET', '/snmp')
  test.same(json, { status: 'success', message: 'SNMP settings', uid: 'cluster', data: OFF })
  test.same(await applied(), [])
})

t.test('serviceIpId is required; the answer has no data; omitted fields keep their value', async (test) => {
  const { put, read, ip } = await fixture(test)
  test.match((await put({})).json, { code: 'INVALID_BODY', errors: [{ field: 'serviceIpId', code: 'REQUIRED' }] })
  const answer = await put({ serviceIpId: ip, enabledV2: true, community: 'word', location: 'Rack "7"', port: 1161 })
  test.same(answer.json, { status: 'success', message: 'SNMP settings stored' })
  await put({ serviceIpId: ip, contact: 'noc' })
  test.same(await read(), {
    enabledV2: true,
    enabledV3: false,
    community: 'word',
    location: 'Rack "7"',
    contact: 'noc',
    serviceIpId: ip,
    port: 1161,
  })
})

t.test('the agent listens on the named static or floating IP, and on no other', async (test) => {
  const { put, ip, floating, applied } = await fixture(test)
  await put({ serviceIpId: ip, enabledV2: true, community: 'word' })
  const [conf = ''] = await applied()
  test.match(conf, /^agentaddress udp:198\.51\.100\.10:161$/m)
  test.match(conf, /^com2sec fulcrumCommunity default "word"$/m)
  await put({ serviceIpId: floating })
  test.match((await applied())[0], /^agentaddress udp:198\.51\.100\.20:161$/m)
})

t.test('serviceIpId must be a static or floating IP', async (test) => {
  const { put, groupId } = await fixture(test)
  for (const serviceIpId of ['nobody', groupId]) {
    const { status, json } = await put({ serviceIpId })
    test.equal(status, 422)
    test.match(json, { code: 'INVALID_BODY', errors: [{ field: 'serviceIpId', code: 'NOT_FOUND' }] })
  }
})

t.test('an address in use by the agent cannot be deleted, nor changed', async (test) => {
  const { call, node, put, ip, floating, groupId } = await fixture(test)
  await put({ serviceIpId: ip, enabledV3: true })
  const deleted = await call('DELETE', `/${node}/sips/${ip}?ip=198.51.100.10`)
  test.match(deleted.json, { code: 'IN_USE', data: { usage: [{ resource: 'snmpSettings', field: 'serviceIpId' }] } })
  const moved = await call('PUT', `/${node}/sips/${ip}`, { body: { groupId, ip: '198.51.100.11' } })
  test.equal(moved.json.code, 'IN_USE')
  await put({ serviceIpId: floating })
  test.equal((await call('DELETE', `/fips/${floating}`)).json.code, 'IN_USE')
  test.equal((await call('DELETE', `/${node}/sips/${ip}?ip=198.51.100.10`)).status, 200)
})

t.test('an address whose IP group loses its interface is refused while the agent listens on it', async (test) => {
  const { call, node, put, ip, groupId, applied } = await fixture(test)
  const body = { name: 'lan', networkIp: '198.51.100.0', networkMask: 24 }
  const assigned = { nodeId: node, interfaceId: 'eth0' }
  await call('PUT', `/ipgroups/${groupId}`, { body: { ...body, assignedInterfaces: [assigned] } })
  await put({ serviceIpId: ip, enabledV3: true })
  await applied()
  await call('PUT', `/ipgroups/${groupId}`, { body: { ...body, assignedInterfaces: [] } })
  const answer = await call('PUT', '/services/apply')
  test.equal(answer.json.code, 'CONFIG_INVALID')
  test.match(answer.text, /the SNMP agent still listens on it/)
})

t.test('version 2c cannot be enabled without a community, and nothing without an address', async (test) => {
  const { put, ip, read } = await fixture(test)
  const both = await put({ serviceIpId: '', enabledV2: true })
  test.equal(both.status, 422)
  test.same(
    both.json.errors.map(({ field }: { field: string }) => field),
    ['community', 'serviceIpId'],
  )
  test.equal((await put({ serviceIpId: ip, enabledV2: true, community: '' })).status, 422)
  test.same(await read(), OFF, 'nothing of it was stored')
  test.equal((await put({ serviceIpId: ip, enabledV2: true, community: 'x' })).status, 200)
  test.equal((await put({ serviceIpId: ip, community: '' })).status, 422, 'cleared while it is on')
  test.equal((await put({ serviceIpId: '', enabledV2: false, community: '' })).status, 200)
})

t.test('** keeps the community, and is refused when none is stored', async (test) => {
  const { put, ip, read } = await fixture(test)
  const answer = await put({ serviceIpId: ip, community: '**' })
  test.equal(answer.status, 422)
  test.match(answer.json, { code: 'PASSWORD_NOT_STORED', errors: [{ field: 'community' }] })
  await put({ serviceIpId: ip, community: 'word' })
  await put({ serviceIpId: ip, community: '**', enabledV2: true })
  test.match(await read(), { community: 'word', enabledV2: true })
})

t.test('a user without the right to change the settings reads ** for the community', async (test) => {
  const { call, put, ip, anonymous, login } = await fixture(test)
  await put({ serviceIpId: ip, community: 'word' })
  const roles = (await call('GET', '/rbac/roles')).json.data as { id: string; name: string }[]
  const operator = roles.find(({ name }) => name === 'Operator')?.id
  const body = {
    email: 'op@localhost',
    firstname: 'O',
    lastname: 'P',
    password: 'correct horse battery',
    disabled: 'false',
  }
  const created = await call('POST', '/localUsers/users', { body: { ...body, roles: [operator] } })
  test.equal(created.status, 201, created.text)
  test.equal((await call('PUT', '/services/apply')).status, 200)
  const token = await login(body.email, body.password)
  test.match((await anonymous('GET', '/snmp', { token })).json.data, { community: '**' })
  const pending = await anonymous('GET', '/services/pending', { token })
  test.notMatch(pending.text, /word/)
})

t.test('text that snmpd would not read as one value is refused, everything else is accepted', async (test) => {
  const { put, ip, read } = await fixture(test)
  const refused = await put({ serviceIpId: ip, location: '# no', contact: ' x', community: 'ü'.repeat(200) })
  test.same(
    refused.json.errors.map(({ field }: { field: string }) => field),
    ['community', 'location', 'contact'],
  )
  for (const text of ['two\nlines', 'nul\u0000', 'tab\t'])
    test.equal((await put({ serviceIpId: ip, location: text })).status, 422, JSON.stringify(text))
  const hostile = String.raw`a "b" \ 'c' #d $(e) %n`
  test.equal((await put({ serviceIpId: ip, location: hostile, contact: hostile, community: hostile })).status, 200)
  test.match(await read(), { location: hostile, contact: hostile, community: hostile })
})

t.test('the engine stays the same whatever is changed', async (test) => {
  const { put, ip, applied } = await fixture(test)
  const engines = new Set<string | undefined>()
  for (const port of [161, 1161, 2161]) {
    await put({ serviceIpId: ip, enabledV2: true, community: 'word', port })
    engines.add(/^exactEngineID 0x(\w+)$/m.exec((await applied())[0] ?? '')?.[1])
  }
  test.equal(engines.size, 1)
  test.match([...engines][0], /^80001f8805[0-9a-f]{24}$/)
})

t.test('switched off, the agent of the machine is stopped; without an address it is as found', async (test) => {
  const { put, ip, call, machine } = await fixture(test)
  const apply = async () => {
    machine.host.takeJournal()
    test.equal((await call('PUT', '/services/apply')).status, 200)
    return machine.host.journal
  }
  await put({ serviceIpId: ip, enabledV2: true, community: 'word' })
  await apply()
  await put({ serviceIpId: ip, enabledV2: false })
  test.match(await apply(), [{ verb: 'setting', key: 'unitEnabled snmp', value: 'disabled' }, { verb: 'removeFile' }])
  await put({ serviceIpId: '' })
  await apply()
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)
})
