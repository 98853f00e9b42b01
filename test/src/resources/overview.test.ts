import t from 'tap'
import { Compile } from 'typebox/compile'
import type { TSchema } from 'typebox'
import { overview } from '../../../src/resources/overview.ts'
import { nameBasedId } from '../../../src/base/ids.ts'
import { applianceFixture } from '../../fixtures/appliance.ts'

t.test('the example is valid', async (test) => {
  for (const { data } of overview) {
    const { examples } = Object(data) as { readonly examples: readonly unknown[] }
    test.same([...Compile(data as TSchema).Errors(examples[0])], [])
  }
})

t.test('the first screen in one answer', async (test) => {
  const { call, node } = await applianceFixture(test)
  const ripId = (await call('POST', '/ipvsDirector/rips', { body: { name: 'w', ip: '192.0.2.7', port: 80 } })).json.data
    .id
  const backend = { name: 'shop', mode: 'http', reals: [{ ripId }] }
  const defaultBackendId = (await call('POST', '/layer7proxy/backends', { body: backend })).json.data.id
  const frontend = { name: 'shop', mode: 'http', ip: '127.0.0.1', ports: '18080', defaultBackendId }
  await call('POST', '/layer7proxy/frontends', { body: frontend })
  await call('PUT', '/services/apply')
  await call('PUT', `/ipvsDirector/rips/${ripId}/drain`)
  const { data, message } = (await call('GET', '/overview')).json
  test.equal(message, 'Overview')
  test.match(data, {
    nodeId: node,
    haproxy: { answers: false, version: null },
    layer7: {
      problem: String,
      frontends: { total: 1, up: 0, down: 0 },
      backends: { total: 1 },
      reals: { total: 1, unknown: 1, drained: 0 },
      traffic: { sessions: null },
    },
    layer4: { frontends: { total: 0 } },
    nodes: [{ id: node, isSelf: true, state: 'online' }],
    quorum: null,
    apply: { state: 'idle', revision: 2, by: 'admin@localhost' },
    pending: { count: 1, mine: 1, warnings: [{ code: 'NO_SERVER_LEFT' }] },
    jobs: { running: 0, failed: 0 },
    revisions: [{ revision: 2, count: 3 }, { revision: 1 }],
    more: 0,
  })
  test.ok(data.disk.available <= data.disk.size)
  test.ok(data.events.some(({ kind }: { kind: string }) => kind === 'apply'))
  test.same(
    data.attention.map(({ kind }: { kind: string }) => kind).filter((kind: string) => kind !== 'disk'),
    ['haproxy', 'pending'],
  )
})

t.test('each edit of a pending change is reported', async (test) => {
  const { call } = await applianceFixture(test)
  const told = async () => (await call('GET', '/overview')).json.data.pending
  test.match(await told(), { count: 0, changedAt: null })
  const server = { name: 'web', ip: '10.0.0.1', port: 80 }
  const { id } = (await call('POST', '/ipvsDirector/rips', { body: server })).json.data
  const last = async () => (await call('GET', '/services/pending')).json.data.changes[0].at
  test.match(await told(), { count: 1, changedAt: await last() })
  await call('PUT', `/ipvsDirector/rips/${id}`, { body: { weight: 7 } })
  test.match(await told(), { count: 1, changedAt: await last() })
})

t.test('data of other endpoints need their right', async (test) => {
  const { call, anonymous, login } = await applianceFixture(test)
  const role = { name: 'screen', users: [], groups: [], endpoints: [nameBasedId('GET /overview')] }
  const roles = [(await call('POST', '/rbac/roles', { body: role })).json.data.id]
  const user = { email: 's@localhost', firstname: 'S', lastname: 'S', password: 'the first screen', disabled: 'false' }
  test.equal((await call('POST', '/localUsers/users', { body: { ...user, roles } })).status, 201)
  await call('PUT', '/services/apply')
  await call('POST', '/ipvsDirector/rips', { body: { name: 'w', ip: '192.0.2.7', port: 80 } })
  const { json } = await anonymous('GET', '/overview', { token: await login(user.email, user.password) })
  test.match(json.data, { apply: null, pending: null, jobs: null, events: null, revisions: null })
  test.notMatch(JSON.stringify(json.data.attention), /pending/)
})
