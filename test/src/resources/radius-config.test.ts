import t, { type Test } from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'
import { NO_RADIUS } from '../../../src/rules/radius.ts'
import { answerTo, radiusServer, SECRET } from '../../simulators/radius-server.ts'

const borrow = sharedAppliance(t)

const PASSWORD = 'arctangent-of-nemo'

async function fixture(test: Test) {
  const { call, state, revision } = await borrow()
  const put = (body: object) => call('PUT', '/radius/config', { body })
  const read = async () => (await call('GET', '/radius/config')).json.data
  const stored = async (body: object) => {
    const answer = await put(body)
    test.equal(answer.status, 200, answer.text)
    return (await read())[0]
  }
  const tried = (body: object) =>
    call('POST', '/radius/config/test', { body: { username: 'nemo', password: PASSWORD, ...body } })
  await call('POST', '/rbac/groups', { body: { id: 'ops', name: 'Ops' } })
  return { call, state, revision, put, read, stored, tried }
}
const codes = (answer: { json: { errors: { field: string; code: string }[] } }) =>
  answer.json.errors.map(({ field, code }) => [field, code])

t.test('when unset: an array of one configuration, which is off', async (test) => {
  const { read } = await fixture(test)
  test.same(await read(), [NO_RADIUS])
  test.match(NO_RADIUS, { enabled: false, port: 1812, timeout: 5, retries: 2, requireMessageAuthenticator: true })
  test.match(NO_RADIUS, { groupAttribute: 'Class', denyUnmapped: true }, 'as decided')
})

t.test('PUT returns an empty array; the record as read can be sent again, and keeps every secret', async (test) => {
  const { put, read, call } = await fixture(test)
  const hosts = [
    { host: 'radius.test', sharedSecret: 'own secret', priority: 1 },
    { host: '2001:db8::7', port: 1645 },
  ]
  const answer = await put({ enabled: true, sharedSecret: 'common secret', hosts })
  test.same(answer.json, { status: 'success', message: 'RADIUS configuration stored', data: [] })
  const [shown] = await read()
  test.same(shown, {
    ...NO_RADIUS,
    enabled: true,
    sharedSecret: '**',
    hosts: [
      { host: 'radius.test', port: null, sharedSecret: '**', priority: 1 },
      { host: '2001:db8::7', port: 1645, sharedSecret: '', priority: 0 },
    ],
  })
  await call('PUT', '/services/apply')
  test.equal((await put(shown)).status, 200)
  test.equal((await call('GET', '/services/pending')).json.data.count, 0, 'nothing has changed')
})

t.test('PASSWORD_NOT_STORED: ** without a stored secret', async (test) => {
  const { put, read } = await fixture(test)
  const answer = await put({ sharedSecret: '**', hosts: [{ host: 'a.test' }, { host: 'b.test', sharedSecret: '**' }] })
  test.equal(answer.status, 422)
  test.equal(answer.json.code, 'PASSWORD_NOT_STORED')
  test.same(codes(answer), [
    ['hosts.1.sharedSecret', 'PASSWORD_NOT_STORED'],
    ['sharedSecret', 'PASSWORD_NOT_STORED'],
  ])
  test.same(await read(), [NO_RADIUS])
})

t.test('INVALID_BODY: enabled needs a server, and a secret for each', async (test) => {
  const { put, stored } = await fixture(test)
  test.same(codes(await put({ enabled: true })), [['hosts', 'INVALID_BODY']])
  test.same(codes(await put({ enabled: true, hosts: [{ host: 'a.test' }] })), [['sharedSecret', 'INVALID_BODY']])
  await stored({ enabled: true, hosts: [{ host: 'a.test', sharedSecret: 'own' }] })
  test.same(codes(await put({ hosts: [] })), [['hosts', 'INVALID_BODY']], 'while it is on')
})

t.test('INVALID_BODY: groups must exist; all problems at once', async (test) => {
  const { put, stored } = await fixture(test)
  const groupMappings = [
    { value: 'a', groupId: 'ops' },
    { value: 'b', groupId: 'nope' },
  ]
  const answer = await put({ enabled: true, groupAttribute: 'Klass', groupMappings, hosts: [{ host: 'a b' }] })
  test.same(codes(answer), [
    ['hosts.0.host', 'INVALID_BODY'],
    ['groupAttribute', 'INVALID_BODY'],
    ['sharedSecret', 'INVALID_BODY'],
    ['groupMappings.1.groupId', 'INVALID_BODY'],
  ])
  test.match(await stored({ groupMappings: groupMappings.slice(0, 1) }), { groupMappings: [{ groupId: 'ops' }] })
})

t.test('IN_USE: a group that a mapping refers to', async (test) => {
  const { call, stored } = await fixture(test)
  await stored({ groupMappings: [{ value: 'a', groupId: 'ops' }] })
  test.match((await call('DELETE', '/rbac/groups/ops')).json, { code: 'IN_USE' })
})

t.test('INVALID_BODY: the schema and the rules in one answer', async (test) => {
  const { put } = await fixture(test)
  const answer = await put({ timeout: 0, authProtocol: 'EAP', groupAttribute: 'Klass', sharedSecret: 'a\nb' })
  const named = new Set(codes(answer).map(([field]) => field))
  test.same(named, new Set(['timeout', 'authProtocol', 'groupAttribute', 'sharedSecret']))
})

t.test(
  'secrets and passwords are in no answer: not read, pending, applied, tested, refused or audited',
  async (test) => {
    const { call, put, tried, read, revision } = await fixture(test)
    const { host } = await radiusServer(test, (request, reply) => reply(answerTo(request, { secret: 'other' })))
    const hosts = [{ ...host, sharedSecret: 'host-secret-word' }]
    const body = { enabled: true, sharedSecret: 'common-secret-word', hosts, timeout: 1, retries: 0 }
    const texts = [(await put(body)).text, JSON.stringify(await read())]
    texts.push((await call('GET', '/services/pending?render=true')).text, (await call('PUT', '/services/apply')).text)
    texts.push((await tried({ sharedSecret: 'common-secret-word', hosts })).text)
    texts.push((await tried({ hosts: [{ host: 'a b', sharedSecret: 'host-secret-word' }] })).text)
    texts.push((await put({ ...body, sharedSecret: 'common-secret-word\n' })).text)
    texts.push((await call('GET', '/audit')).text, (await call('GET', '/revisions')).text)
    texts.push((await call('GET', `/revisions/0/diff/${revision + 1}`)).text)
    for (const text of texts) test.notMatch(text, new RegExp(`secret-word|${PASSWORD}`), text.slice(0, 60))
  },
)

t.test('the test merges the sent fields with the stored ones, and saves nothing', async (test) => {
  const { call, tried, stored, read } = await fixture(test)
  const attributes = [{ type: 25, value: Buffer.from('operators') }]
  const { host, requests } = await radiusServer(test, (request, reply) => reply(answerTo(request, { attributes })))
  await stored({ sharedSecret: SECRET, groupMappings: [{ value: 'operators', groupId: 'ops' }] })
  const before = JSON.stringify(await read())
  const answer = await tried({ hosts: [host] })
  test.equal(answer.status, 200, answer.text)
  test.match(answer.json, {
    status: 'success',
    data: { stage: 'authorize', ok: true, values: ['operators'], groups: ['ops'], attempts: [{ outcome: 'accepted' }] },
  })
  test.equal(requests.length, 1)
  test.equal(JSON.stringify(await read()), before)
  const unmapped = await tried({ hosts: [host], groupMappings: [], sharedSecret: '**' })
  test.match(unmapped.json.data, { stage: 'authorize', ok: false })
  test.match((await tried({ hosts: [host], sharedSecret: 'another', timeout: 1, retries: 0 })).json.data, {
    stage: 'connect',
    ok: false,
  })
  test.equal((await call('GET', '/radius/users')).json.data.length, 0)
})

t.test('INVALID_BODY: a test without servers, secret, name or password asks no server', async (test) => {
  const { call, tried } = await fixture(test)
  test.same(codes(await tried({})), [['hosts', 'INVALID_BODY']])
  test.same(codes(await tried({ hosts: [{ host: 'a.test' }] })), [['sharedSecret', 'INVALID_BODY']])
  test.same(codes(await tried({ sharedSecret: '**' })), [['sharedSecret', 'PASSWORD_NOT_STORED']])
  const unnamed = await call('POST', '/radius/config/test', { body: {} })
  test.same(
    codes(unnamed).map(([field]) => field),
    ['username', 'password'],
  )
})
