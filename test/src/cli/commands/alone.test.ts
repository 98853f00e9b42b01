import t from 'tap'
import { ACCESS } from '../../../../src/cli/commands/alone.ts'
import { ACCESS_SECTIONS } from '../../../../src/model/access-sections.ts'
import { cliFixture } from '../../../fixtures/cli.ts'
import { until } from '../../../fixtures/until.ts'

const fixture = cliFixture(t)

t.test('changes of others to the same server do not go live with it', async (test) => {
  const { run, call } = await fixture(test)
  const created = await call('POST', '/ipvsDirector/rips', { body: { name: 'web1', ip: '192.0.2.1', port: 80 } })
  const path = `/ipvsDirector/rips/${created.json.data.id}`
  test.match(await run('server drain web1'), { exit: 1, err: 'of web1 is pending (its creation, by' })
  await call('PUT', '/services/apply')
  await call('PUT', path, { body: { ip: '192.0.2.9', port: 80 } })
  const before = (await call('GET', '/services/pending')).json.data
  for (const command of ['drain', 'halt', 'online', 'weight 7', 'drain --wait 1m']) {
    const [verb, ...more] = command.split(' ')
    test.match(
      await run(['server', verb ?? '', 'web1', ...more]),
      { exit: 1, err: 'of web1 is pending (ip, by' },
      command,
    )
  }
  test.same((await call('GET', '/services/pending')).json.data, before, 'nothing was staged')
  test.match(await run('server drain web1 --stage'), { exit: 0, out: 'once it is applied' })
  test.match((await call('GET', '/services/pending')).json.data.changes, [{ after: { ip: String, state: 'drained' } }])
})

t.test('a change that an apply refuses does not wait for the apply of another user', async (test) => {
  const { run, call } = await fixture(test)
  for (const name of ['web1', 'web2'])
    await call('POST', '/ipvsDirector/rips', { body: { name, ip: '192.0.2.1', port: 80 } })
  await call('PUT', '/services/apply', { body: { confirmWithin: 600 } })
  await run('server drain web1 --stage')
  for (const name of ['web1', 'web2'])
    test.match(await run(`server drain ${name}`), { exit: 1, err: /APPLY_IN_PROGRESS/ }, name)
  const { changes } = (await call('GET', '/services/pending')).json.data
  test.match(changes, [{ name: 'web1', after: { state: 'drained' } }], 'earlier staged changes stay')
  test.equal(changes.length, 1)
  await call('PUT', '/services/apply/confirm')
})

t.test('warnings are asked about', async (test) => {
  const { run, call } = await fixture(test)
  const { id: ripId } = (
    await call('POST', '/ipvsDirector/rips', { body: { name: 'web1', ip: '192.0.2.1', port: 80 } })
  ).json.data
  const backend = { name: 'web', mode: 'http', reals: [{ ripId }] }
  const defaultBackendId = (await call('POST', '/layer7proxy/backends', { body: backend })).json.data.id
  const frontend = { name: 'web', mode: 'http', ip: '127.0.0.1', ports: '8080', defaultBackendId }
  await call('POST', '/layer7proxy/frontends', { body: frontend })
  await call('PUT', '/services/apply')
  const pending = async () => (await call('GET', '/services/pending')).json.data.count
  const asked = /^1 warning: [^\n]+ apply with --accept-warnings if this is intended \(WARNINGS\)\n/
  test.match(await run('server halt web1'), { exit: 1, err: /use --accept-warnings when input is not a terminal/ })
  test.match(await run('server halt web1', { answers: ['n'] }), { exit: 1, err: asked })
  test.equal(await pending(), 0, 'and it is not left for another apply')
  test.match(await run('server halt web1', { answers: ['y'] }), {
    exit: 0,
    err: asked,
    out: 'is taken out of all backends',
  })
  await run('server online web1')
  const accepted = await run('server drain web1 --accept-warnings')
  test.match(accepted, { exit: 0, out: 'web1 is drained', err: /^[^\n]+; 1 warning: / })
})

t.test('a change of access leaves those of others as they are', async (test) => {
  test.same([...ACCESS], [...ACCESS_SECTIONS])
  const { run, call } = await fixture(test)
  const user = { email: 'eve@test', firstName: 'Eve', lastName: 'E', password: 'a-good-password' }
  const created = await call('POST', '/localUsers/users', { body: { ...user, disabled: false, roles: [], groups: [] } })
  test.equal(created.status, 201, created.text)
  await call('PUT', '/services/apply')
  await call('POST', '/rbac/groups', { body: { id: 'ops', name: 'Ops' } })
  const before = (await call('GET', '/services/pending')).json.data
  const said = /other changes of users or roles are pending \(Ops, by admin@localhost\), and they go live together/
  test.match(await run('user disable eve@test'), { exit: 1, out: '', err: said })
  test.same((await call('GET', '/services/pending')).json.data, before, 'nothing is staged, and nothing reverted')
  test.match(await run('user disable eve@test --stage'), { exit: 0 })
})

t.test('a refused change of access is reverted as a whole', async (test) => {
  const { run, call } = await fixture(test)
  await call('POST', '/rbac/groups', { body: { id: 'ops', name: 'Ops' } })
  const role = { name: 'readers', users: [], groups: ['ops'], endpoints: [{ path: '/services', methods: ['GET'] }] }
  await call('POST', '/rbac/roles', { body: role })
  await call('PUT', '/services/apply', { body: { confirmWithin: 600 } })
  const { exit, err } = await run('role delete readers')
  test.equal(exit, 1)
  test.match(err, /APPLY_IN_PROGRESS/)
  test.notMatch(err, /still pending/)
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)
  await call('PUT', '/services/apply/confirm')
})

t.test("a refused drain leaves no job that would continue with another user's apply", async (test) => {
  const { run, call } = await fixture(test)
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web1', ip: '192.0.2.1', port: 80 } })
  await call('PUT', '/services/apply', { body: { confirmWithin: 600 } })
  await run('server drain web1 --stage')
  test.match(await run('server drain web1 --wait 5m --halt'), { exit: 1, err: /APPLY_IN_PROGRESS/ })
  const [{ id }] = (await call('GET', '/jobs')).json.data
  const stateOf = async () => (await call('GET', `/jobs/${id}`)).json.data.state
  test.equal(await until('the end of the job', stateOf, (state) => state !== 'running'), 'cancelled')
  await call('PUT', '/services/apply/confirm')
})
