import t from 'tap'
import { ADMINISTRATOR, endpointId } from '../../../src/api/access.ts'
import { endpoints as table } from '../../../src/resources/index.ts'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

const READ = endpointId({ method: 'GET', path: '/ipvsDirector/rips' })
const WRITE = endpointId({ method: 'POST', path: '/ipvsDirector/rips' })

async function fixture() {
  const made = await borrow()
  const { call } = made
  const addUser = async (email: string) => {
    const body = { email, firstname: 'A', lastname: 'B', password: 'a-password', disabled: false }
    return String((await call('POST', '/localUsers/users', { body })).json.data.id)
  }
  const addRole = async (more: object = {}) => {
    const body = { name: 'r', users: [], groups: [], endpoints: [], ...more }
    const answer = await call('POST', '/rbac/roles', { body })
    if (answer.status !== 201) throw new Error(answer.text)
    return String(answer.json.data.id)
  }
  const role = async (id: string) => (await call('GET', `/rbac/roles/${id}`)).json.data
  const change = (id: string, body: object) => call('PUT', `/rbac/roles/${id}`, { body })
  return { ...made, addUser, addRole, role, change }
}

t.test('endpoints are granted by id, by path and methods, or both; the answer has one form', async (test) => {
  const { addRole, role } = await fixture()
  const forms = [
    [READ, WRITE],
    [{ path: '/ipvsDirector/rips', methods: ['GET', 'POST'] }],
    [WRITE, { path: '/ipvsDirector/rips', methods: ['GET'] }],
    [READ, READ, { path: '/ipvsDirector/rips', methods: ['POST', 'GET'] }],
  ]
  for (const [i, endpoints] of forms.entries()) {
    const { endpoints: granted } = await role(await addRole({ name: `r${i}`, endpoints }))
    test.same(granted, [{ path: '/ipvsDirector/rips', methods: ['GET', 'POST'] }], JSON.stringify(endpoints))
  }
})

t.test('a path is granted in either spelling of the node, of the specification and of the document', async (test) => {
  const { addRole, role } = await fixture()
  for (const [place, parameter] of ['{applianceID}', '{applianceId}'].entries()) {
    const paths = [`/${parameter}/layer7proxy/stats`, `/${parameter}/interfaces`]
    const id = await addRole({ name: `r${place}`, endpoints: paths.map((path) => ({ path, methods: ['GET'] })) })
    test.match((await role(id)).endpoints, [
      { path: '/{applianceId}/interfaces', methods: ['GET'] },
      { path: '/{applianceID}/layer7proxy/stats', methods: ['GET'] },
    ])
  }
})

t.test('a role as read can be sent back and changes nothing', async (test) => {
  const { addRole, addUser, role, change, call } = await fixture()
  const user = await addUser('u@localhost')
  await call('POST', '/rbac/groups', { body: { id: 'g', name: 'g' } })
  const id = await addRole({ users: [user], groups: ['g'], endpoints: [READ, WRITE] })
  const where = { names: ['app-*'] }
  const endpoints = [
    { path: '/services/apply', methods: ['PUT', 'GET'] },
    { path: '/ipvsDirector/rips/{id}', methods: ['PUT', 'GET'], where },
    { path: '/ipvsDirector/rips', methods: ['POST', 'GET'], where },
  ]
  const unsorted = await addRole({ name: 'in any order', endpoints })
  await call('PUT', '/services/apply')
  for (const one of [id, unsorted]) {
    const before = await role(one)
    const { id: _id, ...sent } = before
    test.equal((await change(one, sent)).status, 200)
    test.same(await role(one), before)
  }
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)
})

t.test('every entry without an endpoint is reported, and nothing is stored', async (test) => {
  const { call, addRole, role, change } = await fixture()
  const id = await addRole({ endpoints: [READ] })
  const endpoints = [
    READ,
    'nope',
    { path: '/ipvsDirector/rips', methods: ['GET', 'DELETE'] },
    { path: '/x', methods: ['GET'] },
  ]
  const answer = await change(id, { name: 'renamed', endpoints })
  test.match(answer.json, { code: 'INVALID_BODY' })
  test.same(
    answer.json.errors.map(({ field }: { field: string }) => field),
    ['endpoints.1', 'endpoints.2', 'endpoints.3'],
  )
  test.match(await role(id), { name: 'r', endpoints: [{ methods: ['GET'] }] })
  const typed = await call('PUT', `/rbac/roles/${id}`, { body: { endpoints: [{ path: '/x', methods: ['PATCH'] }] } })
  test.equal(typed.status, 422)
})

t.test('GET /rbac/endpoints lists the whole table with the ids for granting', async (test) => {
  const { call, addRole, role } = await fixture()
  const { data } = (await call('GET', '/rbac/endpoints')).json
  test.same(
    data,
    table.map((endpoint) => ({
      id: endpointId(endpoint),
      name: endpoint.name,
      method: endpoint.method,
      path: endpoint.path,
      summary: endpoint.summary,
    })),
  )
  const all = await role(await addRole({ endpoints: data.map(({ id }: { id: string }) => id) }))
  test.same(all.endpoints, (await role(ADMINISTRATOR.id)).endpoints, 'every one of them can be granted')
})

t.test('holders are exactly the sent ones: others lose the role and keep what else they hold', async (test) => {
  const { call, addUser, addRole, role, change } = await fixture()
  const [ann, ben] = [await addUser('ann@localhost'), await addUser('ben@localhost')]
  for (const id of ['g', 'h']) await call('POST', '/rbac/groups', { body: { id, name: id } })
  const other = await addRole({ name: 'other', users: [ann], groups: ['g'] })
  const id = await addRole({ users: [ann], groups: ['g'] })
  await change(id, { users: [ben] })
  test.match(await role(id), { users: [ben], groups: ['g'] }, 'groups were omitted')
  await change(id, { groups: ['h'] })
  test.match(await role(id), { users: [ben], groups: ['h'] })
  test.match(await role(other), { users: [ann], groups: ['g'] })
  test.same((await call('GET', `/localUsers/users/${ann}`)).json.data.roles, [other])
  await change(id, { users: [] })
  test.same((await role(id)).users, [])
})

t.test('a change keeps omitted fields', async (test) => {
  const { addUser, addRole, role, change } = await fixture()
  const user = await addUser('u@localhost')
  const id = await addRole({ users: [user], endpoints: [READ] })
  const before = await role(id)
  await change(id, { name: 'renamed' })
  test.same(await role(id), { ...before, name: 'renamed' })
  await change(id, { endpoints: [] })
  test.same(await role(id), { ...before, name: 'renamed', endpoints: [] })
})

t.test('missing holders and endpoints that cannot be granted are reported together', async (test) => {
  const { call, addRole, change } = await fixture()
  const sent = { users: ['x', 'y'], groups: ['z'], endpoints: [READ, 'nope'] }
  const told = ['users.0', 'users.1', 'groups.0', 'endpoints.1']
  const fieldsOf = ({ status, json }: Awaited<ReturnType<typeof change>>) => [
    status,
    json.errors?.map(({ field }: { field: string }) => field),
  ]
  const id = await addRole({ name: 'there' })
  test.same(fieldsOf(await call('POST', '/rbac/roles', { body: { name: 'new', ...sent } })), [422, told])
  test.same(fieldsOf(await change(id, sent)), [422, told])
})

t.test('missing holders are each named, and no other gets the role', async (test) => {
  const { call, addUser, addRole, role, change } = await fixture()
  const user = await addUser('u@localhost')
  const id = await addRole()
  const users = await change(id, { users: ['nope', user, 'neither'] })
  test.match(users.json, { code: 'INVALID_BODY', errors: [{ field: 'users.0' }, { field: 'users.2' }] })
  const groups = await change(id, { users: [user], groups: ['nope'] })
  test.match(groups.json, { code: 'INVALID_BODY', errors: [{ field: 'groups.0', code: 'NOT_FOUND' }] })
  test.same((await role(id)).users, [])
  test.same((await call('GET', `/localUsers/users/${user}`)).json.data.roles, [])
})

t.test('a deletion removes the role from its holders', async (test) => {
  const { call, addUser, addRole } = await fixture()
  const user = await addUser('u@localhost')
  await call('POST', '/rbac/groups', { body: { id: 'g', name: 'g' } })
  const other = await addRole({ name: 'other', users: [user] })
  const id = await addRole({ users: [user], groups: ['g'] })
  await call('PUT', '/services/apply')
  test.equal((await call('DELETE', `/rbac/roles/${id}`)).status, 200)
  test.equal((await call('GET', `/rbac/roles/${id}`)).status, 404)
  test.same((await call('GET', `/localUsers/users/${user}`)).json.data.roles, [other])
  test.same((await call('GET', '/rbac/groups/g')).json.data.roles, [])
  test.equal((await call('PUT', '/services/apply')).status, 200)
})

t.test('a default role shows its rights; only its holders can change', async (test) => {
  const { call, addUser, role, change } = await fixture()
  const user = await addUser('u@localhost')
  const before = await role(ADMINISTRATOR.id)
  test.equal(
    before.endpoints.flatMap(({ methods }: { methods: string[] }) => methods).length,
    table.length,
    'everything',
  )
  test.equal((await change(ADMINISTRATOR.id, { users: [...before.users, user] })).status, 200)
  const holders: readonly string[] = [...before.users, user]
  test.same((await role(ADMINISTRATOR.id)).users, holders.toSorted())
  const refused = await change(ADMINISTRATOR.id, { endpoints: [READ], users: [] })
  test.match(refused.json, { code: 'IN_USE', data: { usage: [{ resource: 'roles', id: ADMINISTRATOR.id }] } })
  test.equal((await role(ADMINISTRATOR.id)).users.length, 2, 'not even the holders of the refused request')
  test.equal((await call('GET', '/services/pending')).json.data.count, 1, 'the user, with the role')
})

t.test('a read has the tag for If-Match, a list none', async (test) => {
  const { call, addRole } = await fixture()
  const id = await addRole()
  const read = await call('GET', `/rbac/roles/${id}`)
  const headers = { 'if-match': String(read.headers['ETag']) }
  test.match(headers, { 'if-match': /^"\d+"$/ })
  test.notOk('ETag' in (await call('GET', '/rbac/roles')).headers)
  test.equal((await call('PUT', `/rbac/roles/${id}`, { body: { name: 'renamed' }, headers })).status, 200)
  test.match((await call('PUT', `/rbac/roles/${id}`, { body: { name: 'x' }, headers })).json, {
    code: 'REVISION_MISMATCH',
  })
  test.match((await call('DELETE', `/rbac/roles/${id}`, { headers })).json, { code: 'REVISION_MISMATCH' })
})

t.test('an entry may cover some records only; the answer lists them, and can be sent back', async (test) => {
  const { addRole, role, change, call } = await fixture()
  const rip = '/ipvsDirector/rips/{id}'
  const where = { names: ['shop-*'], owner: 'shop' }
  const endpoints = [
    { path: '/ipvsDirector/rips', methods: ['GET'] },
    { path: rip, methods: ['GET', 'PUT'], where },
    { path: rip, methods: ['PUT'], where: { ids: ['a'] } },
  ]
  const id = await addRole({ endpoints })
  const before = await role(id)
  test.same(before.endpoints, endpoints)
  await call('PUT', '/services/apply')
  test.equal((await change(id, { endpoints: before.endpoints })).status, 200)
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)
  await change(id, { name: 'renamed' })
  test.same((await role(id)).endpoints, endpoints, 'omitted entries stay')
  await change(id, { endpoints: [...endpoints, { path: rip, methods: ['PUT'] }] })
  test.same(
    (await role(id)).endpoints,
    [
      { path: '/ipvsDirector/rips', methods: ['GET'] },
      { path: rip, methods: ['PUT'] },
      { path: rip, methods: ['GET'], where },
    ],
    'a right for every record has no additional records',
  )
  await change(id, { endpoints: [READ] })
  test.same((await role(id)).endpoints, [endpoints[0]], 'sent again without it, nothing of it is left')
})

t.test('an impossible confinement of a role is refused at its place', async (test) => {
  const { call } = await fixture()
  const rip = { path: '/ipvsDirector/rips/{id}', methods: ['PUT'] }
  const bad: readonly (readonly [object, string])[] = [
    [{ ...rip, where: {} }, 'endpoints.0.where'],
    [{ ...rip, where: { names: ['a\u0000b'] } }, 'endpoints.0'],
    [{ ...rip, where: { names: [''] } }, 'endpoints.0'],
    [{ ...rip, where: { names: [] } }, 'endpoints.0'],
    [{ ...rip, where: { ids: ['a b'] } }, 'endpoints.0'],
    [{ ...rip, where: { owner: 'a team' } }, 'endpoints.0'],
    [{ ...rip, where: { owner: '' } }, 'endpoints.0'],
    [{ ...rip, where: { label: 'x' } }, 'endpoints.0'],
    [{ path: '/services/apply', methods: ['PUT'], where: { owner: 'shop' } }, 'endpoints.0.where'],
    [{ path: '/certificates/certs', methods: ['PATCH'], where: { owner: 'shop' } }, 'endpoints.0'],
  ]
  for (const [entry, field] of bad) {
    const answer = await call('POST', '/rbac/roles', { body: { name: 'x', users: [], groups: [], endpoints: [entry] } })
    test.equal(answer.status, 422, JSON.stringify(entry))
    test.ok(String(answer.json.errors[0].field).startsWith(field), answer.text)
  }
})

t.test('a default role cannot be confined', async (test) => {
  const { call, role } = await fixture()
  const before = await role(ADMINISTRATOR.id)
  const where = { owner: 'shop' }
  const endpoints = [...before.endpoints, { path: '/ipvsDirector/rips', methods: ['GET'], where }]
  const same = await call('PUT', `/rbac/roles/${ADMINISTRATOR.id}`, { body: { endpoints: before.endpoints } })
  test.equal(same.status, 200)
  const [first] = before.endpoints
  const confined = [{ ...first, path: '/ipvsDirector/rips', methods: ['GET'], where }]
  for (const sent of [confined, endpoints.slice(-1)])
    test.match(await call('PUT', `/rbac/roles/${ADMINISTRATOR.id}`, { body: { endpoints: sent } }), { status: 409 })
})
