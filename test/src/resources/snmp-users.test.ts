import t, { type Test } from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

const ALICE = { username: 'alice', authPassphrase: 'auth passphrase', privacyPassphrase: 'privacy passphrase' }
const fieldsOf = (json: { errors?: readonly { field: string }[] }) => (json.errors ?? []).map(({ field }) => field)

async function fixture(test: Test) {
  const { call, node, machine } = await borrow()
  const create = async (path: string, body: object) => String((await call('POST', path, { body })).json.data.id)
  const groupId = await create('/ipgroups', { name: 'lan', networkIp: '198.51.100.0', networkMask: 24 })
  const serviceIpId = await create(`/${node}/sips`, { groupId, ip: '198.51.100.10', externalPingCheck: false })
  const list = async () => (await call('GET', '/snmp/users')).json.data
  const post = (body: object) => call('POST', '/snmp/users', { body })
  const put = (id: string, body: object) => call('PUT', `/snmp/users/${id}`, { body })
  const added = async (body: object = ALICE) => {
    const answer = await post(body)
    test.equal(answer.status, 201, answer.text)
    return String((await list()).at(-1).id)
  }
  const users = async () => {
    machine.host.takeJournal()
    await call('PUT', '/snmp', { body: { serviceIpId, enabledV3: true } })
    const answer = await call('PUT', '/services/apply')
    test.equal(answer.status, 200, answer.text)
    const [conf = ''] = machine.host.journal.flatMap((entry) =>
      entry.verb === 'replaceFile' && entry.path.startsWith('/etc/snmp/') ? [entry.content] : [],
    )
    return conf.split('\n').filter((line) => line.startsWith('usmUser'))
  }
  return { call, list, post, put, added, users }
}

t.test('users are listed without anything of their passphrases', async (test) => {
  const { call, list, added } = await fixture(test)
  test.same(await list(), [])
  const id = await added()
  test.same(await list(), [
    {
      id,
      username: 'alice',
      writeAccess: false,
      authAlgorithm: 'sha',
      privacyAlgorithm: 'aes',
      complete: true,
      missing: [],
    },
  ])
  for (const path of ['/snmp/users', '/services/pending', '/services/pending?render=true'])
    test.notMatch((await call('GET', path)).text, /passphrase|Key":"[0-9a-f]/, path)
})

t.test('the answers are messages only', async (test) => {
  const { post, put, call, added } = await fixture(test)
  test.same((await post(ALICE)).json, { status: 'success', message: 'SNMP user stored' })
  const id = await added({ ...ALICE, username: 'bob' })
  test.same((await put(id, { writeAccess: true })).json, { status: 'success', message: 'SNMP user stored' })
  const deleted = await call('DELETE', `/snmp/users/${id}`)
  test.same(deleted.json, { status: 'success', message: `SNMP user bob (${id}) will be deleted with apply` })
})

t.test('every field is optional: a user without one is incomplete, and unknown to the agent', async (test) => {
  const { post, put, list, users } = await fixture(test)
  const answer = await post({})
  test.equal(answer.status, 201, answer.text)
  test.match(answer.json.message, /^SNMP user user-\w{8} stored; .* without authPassphrase and privacyPassphrase$/)
  const [made] = await list()
  test.match(made, { username: /^user-\w{8}$/, complete: false, missing: ['authPassphrase', 'privacyPassphrase'] })
  test.same(await users(), [])
  const half = await put(made.id, { username: 'carol', authAlgorithm: 'sha256', authPassphrase: 'a passphrase' })
  test.equal(half.status, 200, 'no key has to be derived again')
  test.match(await list(), [{ username: 'carol', complete: false, missing: ['privacyPassphrase'] }])
  test.equal((await put(made.id, { privacyAlgorithm: 'aes256', privacyPassphrase: 'a passphrase' })).status, 200)
  test.match(await list(), [{ complete: true, missing: [] }])
  test.match(await users(), [/^usmUser .* "carol" /])
  await post({ ...ALICE, username: null })
  test.match((await list()).map(({ username }: { username: string }) => username).toSorted(), ['carol', /^user-/])
})

t.test('null removes a passphrase, and makes a name generated', async (test) => {
  const { put, list, added } = await fixture(test)
  const id = await added()
  test.equal((await put(id, { privacyPassphrase: null, username: null, writeAccess: null })).status, 200)
  test.match(await list(), [{ username: `user-${id.slice(-8)}`, complete: false, missing: ['privacyPassphrase'] }])
})

t.test('passphrases have 8 to 255 characters', async (test) => {
  const { post } = await fixture(test)
  for (const passphrase of ['', 'seven77', 'x'.repeat(256), 'with\nnewline', 'nul\u0000 nul nul']) {
    const answer = await post({ ...ALICE, authPassphrase: passphrase, privacyPassphrase: passphrase })
    test.same(fieldsOf(answer.json), ['authPassphrase', 'privacyPassphrase'], JSON.stringify(passphrase))
  }
  test.equal((await post({ ...ALICE, authPassphrase: 'eight888' })).status, 201)
  test.equal((await post({ ...ALICE, username: 'b', privacyPassphrase: 'ü'.repeat(255) })).status, 201)
})

t.test('algorithms are those of the specification and the modern ones', async (test) => {
  const { post } = await fixture(test)
  const refused = await post({ ...ALICE, authAlgorithm: 'md4', privacyAlgorithm: 'rot13' })
  test.same(fieldsOf(refused.json), ['authAlgorithm', 'privacyAlgorithm'])
  for (const [authAlgorithm, privacyAlgorithm] of [
    ['md5', 'des'],
    ['sha', 'aes'],
    ['sha512', 'aes256'],
  ])
    test.equal((await post({ ...ALICE, username: `u-${authAlgorithm}`, authAlgorithm, privacyAlgorithm })).status, 201)
})

t.test('a name is unique, in any case, and holds nothing that could be syntax', async (test) => {
  const { post, added } = await fixture(test)
  await added()
  test.equal((await post({ ...ALICE, username: 'ALICE' })).json.code, 'NAME_NOT_UNIQUE')
  for (const username of ['', 'a b', '"', 'a\nrwuser b', 'x'.repeat(33), '$(id)', 'ü'])
    test.same(fieldsOf((await post({ ...ALICE, username })).json), ['username'], JSON.stringify(username))
})

t.test('another algorithm needs its passphrase, because its key is derived again', async (test) => {
  const { put, added, list } = await fixture(test)
  const id = await added()
  test.same(fieldsOf((await put(id, { authAlgorithm: 'sha256' })).json), ['authPassphrase', 'privacyPassphrase'])
  const half = await put(id, { authAlgorithm: 'sha256', authPassphrase: 'auth passphrase' })
  test.same(fieldsOf(half.json), ['privacyPassphrase'], 'the hash derives the privacy key as well')
  test.same(fieldsOf((await put(id, { privacyAlgorithm: 'des' })).json), ['privacyPassphrase'])
  test.match((await list())[0], { authAlgorithm: 'sha', privacyAlgorithm: 'aes' })
  test.equal((await put(id, { authAlgorithm: 'sha', privacyAlgorithm: 'aes' })).status, 200, 'as they are')
  test.equal((await put(id, { privacyAlgorithm: 'des', privacyPassphrase: 'another one' })).status, 200)
})

t.test('omitted fields keep their value, keys included; a new passphrase is a new key', async (test) => {
  const { put, added, users } = await fixture(test)
  const id = await added()
  const before = await users()
  await put(id, { writeAccess: true })
  test.same(await users(), before)
  await put(id, { authPassphrase: 'another passphrase' })
  const [line = ''] = await users()
  test.not(line, before[0])
  test.equal(line.split(' ').at(-2), before[0]?.split(' ').at(-2), 'the privacy key stays')
})

t.test('keys are the same for the same passphrases, and belong to the engine of the settings', async (test) => {
  const { call, added, users } = await fixture(test)
  await added()
  await added({ ...ALICE, username: 'bob' })
  const [alice = '', bob = ''] = await users()
  test.equal(alice.replaceAll('alice', 'bob'), bob)
  test.notMatch((await call('GET', '/snmp')).text, /80001f88/)
  test.equal((await call('GET', '/snmp')).json.data.port, 161)
})

t.test('the settings with the engine of pending users cannot be discarded before them', async (test) => {
  const { call, added } = await fixture(test)
  await added()
  const { changes } = (await call('GET', '/services/pending')).json.data
  const settings = changes.find(({ resource }: { resource: string }) => resource === 'snmpSettings')
  const answer = await call('DELETE', `/services/pending/${encodeURIComponent(settings.id)}`)
  test.equal(answer.json.code, 'IN_USE')
})

t.test('a missing user is 404', async (test) => {
  const { call, put } = await fixture(test)
  test.equal((await put('nobody', { writeAccess: true })).json.code, 'NOT_FOUND')
  test.equal((await call('DELETE', '/snmp/users/nobody')).json.code, 'NOT_FOUND')
})
