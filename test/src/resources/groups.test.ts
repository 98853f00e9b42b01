import t from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

async function fixture() {
  const made = await borrow()
  const { call } = made
  const addUser = async (email: string, groups: readonly string[]) => {
    const names = { email, firstname: 'A', lastname: 'B', password: 'a-password', disabled: false }
    return String((await call('POST', '/localUsers/users', { body: { ...names, groups } })).json.data.id)
  }
  const groupsOf = async (id: string) => (await call('GET', `/localUsers/users/${id}`)).json.data.groups
  for (const id of ['g', 'h']) await call('POST', '/rbac/groups', { body: { id, name: `group ${id}` } })
  return { ...made, addUser, groupsOf }
}

t.test('a group has the id that is sent, or a generated one', async (test) => {
  const { call } = await fixture()
  test.same((await call('GET', '/rbac/groups/g')).json.data, { id: 'g', name: 'group g', users: [], roles: [] })
  const answer = await call('POST', '/rbac/groups', { body: { id: '', name: 'made up' } })
  test.match(answer.json.data.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/)
  test.equal((await call('GET', `/rbac/groups/${answer.json.data.id}`)).json.data.name, 'made up')
  for (const id of ['a b', 'a/b', 'x'.repeat(65), null]) {
    const refused = await call('POST', '/rbac/groups', { body: { id, name: 'n' } })
    test.match(refused.json, { code: 'INVALID_BODY', errors: [{ field: 'id' }] }, JSON.stringify(id))
  }
})

t.test('members are the users that name the group, in the list as well', async (test) => {
  const { call, addUser } = await fixture()
  const both = await addUser('both@localhost', ['g', 'h'])
  const one = await addUser('one@localhost', ['g'])
  test.same((await call('GET', '/rbac/groups/g')).json.data.users, [both, one].toSorted())
  const listed = (await call('GET', '/rbac/groups')).json.data
  test.same(
    listed.map(({ id, users }: { id: string; users: string[] }) => [id, users.length]),
    [
      ['g', 2],
      ['h', 1],
    ],
  )
})

t.test('a rename keeps members and roles', async (test) => {
  const { call, addUser } = await fixture()
  const user = await addUser('u@localhost', ['g'])
  const body = { name: 'r', users: [], groups: ['g'], endpoints: [] }
  const role = (await call('POST', '/rbac/roles', { body })).json.data.id
  test.equal((await call('PUT', '/rbac/groups/g', { body: { name: 'renamed' } })).status, 200)
  test.same((await call('GET', '/rbac/groups/g')).json.data, { id: 'g', name: 'renamed', users: [user], roles: [role] })
})

t.test('IN_USE: a group with members or roles is not deleted; all of them are named', async (test) => {
  const { call, addUser, groupsOf } = await fixture()
  const member = await addUser('m@localhost', ['h', 'g'])
  const body = { name: 'r', users: [], groups: ['g'], endpoints: [] }
  const role = String((await call('POST', '/rbac/roles', { body })).json.data.id)
  const refused = await call('DELETE', '/rbac/groups/g')
  test.equal(refused.status, 409)
  test.match(refused.json, {
    code: 'IN_USE',
    data: {
      usage: [
        { resource: 'users', id: member, name: 'm@localhost', field: 'groups' },
        { resource: 'roles', id: role, name: 'r', field: 'groups' },
      ],
    },
  })
  test.same(await groupsOf(member), ['h', 'g'], 'nothing has changed')
  await call('PUT', `/localUsers/users/${member}`, { body: { groups: ['h'] } })
  test.equal((await call('DELETE', '/rbac/groups/g')).status, 409, 'the role remains')
  await call('PUT', `/rbac/roles/${role}`, { body: { groups: [] } })
  test.equal((await call('DELETE', '/rbac/groups/g')).status, 200)
  test.equal((await call('GET', '/rbac/groups/g')).status, 404)
})

t.test('a read has the tag for If-Match, a list none', async (test) => {
  const { call } = await fixture()
  const read = await call('GET', '/rbac/groups/g')
  const headers = { 'if-match': String(read.headers['ETag']) }
  test.match(headers, { 'if-match': /^"\d+"$/ })
  test.notOk('ETag' in (await call('GET', '/rbac/groups')).headers)
  test.equal((await call('PUT', '/rbac/groups/g', { body: { name: 'renamed' }, headers })).status, 200)
  test.match((await call('DELETE', '/rbac/groups/g', { headers })).json, { code: 'REVISION_MISMATCH' })
})
