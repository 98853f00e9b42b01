import t from 'tap'
import { ADMINISTRATOR } from '../../../../src/api/access.ts'
import { ADMIN, caller } from '../../../fixtures/appliance.ts'
import { sharedAppliance } from '../../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

async function fixture() {
  const made = await borrow()
  const { call } = made
  const addRip = async (name: string) =>
    String((await call('POST', '/ipvsDirector/rips', { body: { name, ip: '127.0.0.1', port: 80 } })).json.data.id)
  const addBackend = async (name: string, ripIds: readonly string[]) => {
    const body = { name, mode: 'http', reals: ripIds.map((ripId) => ({ ripId })) }
    return String((await call('POST', '/layer7proxy/backends', { body })).json.data.id)
  }
  const pending = async (query = '') => (await call('GET', `/services/pending${query}`)).json.data
  return { ...made, addRip, addBackend, pending }
}

t.test('pending changes have content, author, time and cost, oldest first', async (test) => {
  const { call, addRip, addBackend, pending, revision } = await fixture()
  const rip = await addRip('web')
  const backend = await addBackend('shop', [rip])
  test.match(await pending(), {
    revision,
    count: 2,
    changes: [
      { op: 'create', resource: 'realServers', resourceId: rip, name: 'web', before: null },
      { op: 'create', resource: 'l7Backends', resourceId: backend, effect: 'reload', services: ['layer7proxy'] },
    ],
  })
  await call('PUT', '/services/apply')
  test.match(await pending(), { revision: revision + 1, count: 0, changes: [] })
  await call('PUT', `/ipvsDirector/rips/${rip}/drain`)
  const { changes } = await pending()
  test.match(changes, [{ op: 'update', by: ADMIN.email, at: /^\d{4}-\d\d-\d\dT[\d:.]+Z$/, effect: 'runtime' }])
  test.same(changes[0].before, { state: 'online' }, 'changed fields only')
  test.same(changes[0].after, { state: 'drained' })
  test.equal((await call('DELETE', `/layer7proxy/backends/${backend}`)).status, 200)
  test.match((await pending()).changes[1], { op: 'delete', resourceId: backend, after: null })
})

t.test('one’s own changes are discarded, and affected changes of others are reported', async (test) => {
  const { appliance, call, login, addRip, pending } = await fixture()
  const roles = (await call('GET', '/rbac/roles')).json.data
  const { id: role } = roles.find(({ name }: { name: string }) => name === ADMINISTRATOR.name)
  const other = { email: 'other@localhost', password: 'a long enough password' }
  const person = { ...other, firstname: 'A', lastname: 'B', disabled: 'false', roles: [role] }
  await call('POST', '/localUsers/users', { body: person })
  await call('PUT', '/services/apply')
  const asOther = caller(appliance, await login(other.email, other.password))
  const group = (by: typeof call, name: string) => by('POST', '/rbac/groups', { body: { id: name, name } })
  const takeMine = () => call('DELETE', '/services/pending?mine=true')
  await addRip('mine')
  await asOther('POST', '/ipvsDirector/rips', { body: { name: 'theirs', ip: '127.0.0.1', port: 80 } })
  await group(asOther, 'their-group')
  test.match(await takeMine(), { status: 200, json: { message: 'Pending changes discarded' } })
  test.match((await pending()).changes, [{ name: 'theirs' }, { name: 'their-group' }])
  await group(call, 'my-group')
  const message = /^Your pending changes discarded, and 1 more to users, roles/
  test.match(await takeMine(), { status: 200, json: { message } })
  test.match((await pending()).changes, [{ name: 'theirs' }])
  const nothing = 'Nothing was discarded: no pending change is yours alone; GET /services/pending lists all'
  test.match(await takeMine(), { status: 200, json: { message: nothing } })
  test.match((await pending()).changes, [{ name: 'theirs' }])
  const takeAll = async () => (await call('DELETE', '/services/pending')).json.message
  test.same([await takeAll(), await takeAll()], ['Pending changes discarded', 'Nothing is pending'])
})

t.test('files and steps only with render=true, and reading them touches nothing', async (test) => {
  const { call, machine, addRip, addBackend, pending } = await fixture()
  await addBackend('shop', [await addRip('web')])
  for (const query of ['', '?render=false']) {
    test.same(Object.keys(await pending(query)), ['revision', 'count', 'changes', 'warnings'], query)
  }
  machine.host.takeJournal()
  const { files, steps } = await pending('?render=true')
  test.match(files, [{ path: /haproxy\.cfg$/, diff: /^\+backend /m }])
  test.ok(steps.some(({ kind }: { kind: string }) => kind === 'check'))
  test.same(machine.host.journal, [])
  await call('PUT', '/services/apply')
  test.match(await pending('?render=true'), { count: 0, files: [], steps: [] })
})

t.test('one change can be discarded, unless others need it', async (test) => {
  const { call, addRip, addBackend, pending } = await fixture()
  const rip = await addRip('web')
  const backend = await addBackend('shop', [rip])
  const [first, second] = (await pending()).changes
  const refused = await call('DELETE', `/services/pending/${first.id}`)
  test.match(refused.json, { code: 'IN_USE', data: { usage: [{ resource: 'l7Backends', id: backend }] } })
  const answer = await call('DELETE', `/services/pending/${second.id}`)
  test.match(answer.json, { status: 'success', message: `Pending change ${second.id} discarded` })
  test.equal((await call('GET', `/layer7proxy/backends/${backend}`)).status, 404)
  test.equal((await call('DELETE', `/services/pending/${first.id}`)).status, 200)
  test.equal((await pending()).count, 0)
  test.match((await call('DELETE', `/services/pending/${first.id}`)).json, { code: 'NOT_FOUND' })
})

t.test('validate checks the pending changes, and changes nothing', async (test) => {
  const { call, addRip, addBackend, pending, machine } = await fixture()
  await addBackend('shop', [await addRip('web')])
  const before = await pending()
  machine.host.takeJournal()
  const answer = await call('POST', '/services/validate')
  test.same(answer.json, { status: 'success', message: 'The pending changes are valid', data: before })
  test.same(
    machine.host.journal.filter(({ verb }) => verb === 'unit' || verb === 'socket' || verb === 'renameFile'),
    [],
  )
  test.same(await pending(), before)
})

t.test('a review shows the network as text, deletions included', async (test) => {
  const { call, pending, node } = await fixture()
  const group = { name: 'lan', networkIp: '192.0.2.0', networkMask: 24 }
  const groupId = (await call('POST', '/ipgroups', { body: group })).json.data.id
  const sip = (await call('POST', `/${node}/sips`, { body: { groupId, ip: '192.0.2.9' } })).json.data.id
  test.match((await pending('?render=true')).files, [
    { path: 'addresses and routes', diff: /^\+address 192\.0\.2\.9\/24 dev /m },
  ])
  const proxy = { enable: true, address: { value: 'proxy', port: 3128 } }
  await call('PUT', `/${node}/system/proxy`, { body: proxy })
  await call('PUT', '/services/apply')
  await call('DELETE', `/${node}/sips/${sip}?ip=192.0.2.9`)
  await call('PUT', `/${node}/system/proxy`, { body: { enable: false } })
  const { files } = await pending('?render=true')
  test.match(
    files
      .map(({ diff }: { diff: string }) => /^-(address|Acquire|http_proxy)/m.exec(diff)?.[1])
      .filter(Boolean)
      .sort(),
    ['Acquire', 'address', 'http_proxy'],
  )
})
