import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Editing } from '../../../src/config/editing.ts'
import type { SshFacts } from '../../../src/model/machine-facts.ts'
import { LmdbConfigStore } from '../../../storage/config/lmdb-config-store.ts'
import { ownAppliance, sharedAppliance } from '../../fixtures/shared-appliance.ts'
import { freePort } from '../../fixtures/traffic.ts'

const PASSWORD = 'Gut-1234 oder besser'
const HERE = 'aaaaaaaa-0000-7000-8000-00000000000a'
const ELSEWHERE = 'aaaaaaaa-0000-7000-8000-00000000000b'

interface Machine {
  readonly isOn?: boolean | undefined
  readonly ssh?: SshFacts
  readonly hasAddresses?: true
}

const borrow = sharedAppliance(t)

/** A machine whose console is on or off. For tests that leave the console and sshd as they are. */
async function lentFixture(start: Omit<Machine, 'hasAddresses'> = {}) {
  return verbs(await borrow(), start)
}

/** A machine of one test, whose console changes as recorded. */
async function ownFixture(test: Test, start: Machine = {}) {
  return verbs(await ownAppliance(test, start.hasAddresses ? { prepare: addAddresses } : {}), start)
}

function verbs(site: Awaited<ReturnType<typeof ownAppliance>>, start: Machine) {
  const { call, machine, node } = site
  const found = { isOn: 'isOn' in start ? start.isOn : false }
  Object.assign(machine.facts, {
    consoleEnabled: async () => (await machine.host.hasShell('console')) ?? found.isOn,
    ...(start.ssh === undefined ? {} : { ssh: async () => start.ssh }),
  })
  const path = `/${node}/system/userinterface`
  const read = async () => (await call('GET', path)).json.data
  const put = (body: object) => call('PUT', path, { body })
  const pending = async () => (await call('GET', '/services/pending')).json.data
  const accounts = () => machine.host.takeJournal().filter(({ verb }) => verb === 'account')
  return { ...site, read, put, pending, accounts, path }
}

/** A static IP of this node, and one of another. */
async function addAddresses(state: string, node: string): Promise<void> {
  const store = new LmdbConfigStore(join(state, 'config'))
  const origin = { actor: 'tester@localhost', endpoint: 'test', at: '2026-01-02T03:04:05.000Z' }
  await new Editing(store).edit(origin, undefined, (draft) => {
    const group = { networkIp: '192.0.2.0', networkMask: 24, gateway: '', defaultGateway: false }
    draft.section('ipGroups').create({ id: 'lan', name: 'lan', ...group, assignedInterfaces: [] })
    const more = { groupId: 'lan', externalPingCheck: false }
    draft.section('staticIps').create({ id: HERE, nodeId: node, ip: '192.0.2.5', ...more })
    draft.section('staticIps').create({ id: ELSEWHERE, nodeId: 'another', ip: '192.0.2.6', ...more })
  })
  await store.close()
}

const FOUND = { ipId: '', SSLCertificate: '', sshPort: 22, sshEnabled: true }
const port = 9443
const problems = (answer: { json: { errors?: readonly { field: string; code: string }[] } }) =>
  (answer.json.errors ?? []).map(({ field, code }) => `${field} ${code}`)

t.test('without a record: the settings of the machine as it was found', async (test) => {
  const { read, put, pending, node } = await lentFixture({ ssh: { enabled: false, port: 2200 } })
  test.match(await read(), { ...FOUND, sshPort: 2200, sshEnabled: false, consoleEnabled: false, apiPort: Number })
  const before = (await pending()).count
  await put({ apiPort: port })
  test.same(
    await read(),
    { ...FOUND, apiPort: port, sshPort: 2200, sshEnabled: false, consoleEnabled: false },
    'sshd stays as it is',
  )
  const { changes, count } = await pending()
  test.equal(count, before + 1)
  test.match(changes.at(-1), { op: 'create', resource: 'userInterfaces', resourceId: node })
  test.strictSame(changes.at(-1).after, { id: node, apiPort: port, ipId: '', SSLCertificate: '' }, 'and is not stored')
})

t.test('changes are named: the API by its port, sshd by its sent fields', async (test) => {
  const { put, call, read, machine } = await ownFixture(test, { ssh: { enabled: true, port: 22 } })
  const shown = async () => {
    const { changes, steps } = (await call('GET', '/services/pending?render=true')).json.data
    const [{ effect, services, after }] = changes
    const said = steps.filter(({ why }: { why: string }) => why.includes('sshd')).length
    return { effect, services, ssh: [after.sshEnabled, after.sshPort], saysSshd: said > 0 }
  }
  const [first, next] = [await freePort(), await freePort()]
  const { consoleEnabled: _, ...found } = await read()
  const ofApi = { effect: 'reload', services: ['webui'], ssh: [undefined, undefined], saysSshd: false }
  await put({ apiPort: first })
  test.strictSame(await shown(), ofApi)
  await put({ ...found, apiPort: next })
  test.strictSame(await shown(), ofApi, 'the record as read may be sent back')
  test.equal((await call('PUT', '/services/apply')).status, 200)
  test.strictSame(
    machine.host.takeJournal().filter((entry) => 'name' in entry && entry.name === 'ssh'),
    [],
  )
  await put({ apiPort: next, sshEnabled: false })
  test.strictSame(await shown(), { effect: 'restart', services: ['ssh'], ssh: [false, undefined], saysSshd: true })
  test.match(await read(), { sshEnabled: false, sshPort: 22 })
  await put({ apiPort: next, sshEnabled: true, sshPort: 2222 })
  test.strictSame(await shown(), { effect: 'reload', services: ['ssh'], ssh: [true, 2222], saysSshd: true })
})

t.test('a running sshd continues on the port that is sent', async (test) => {
  const { put, pending, read } = await ownFixture(test, { ssh: { enabled: true, port: 22 } })
  await put({ apiPort: port, sshPort: 2222 })
  test.match((await pending()).changes.at(-1).after, { sshEnabled: true, sshPort: 2222 })
  await put({ apiPort: port, sshPort: 22 })
  test.match(await read(), { sshEnabled: true, sshPort: 22 }, 'a sent field is stored')
})

t.test('without sshd: off, on its usual port', async (test) => {
  const { read } = await lentFixture({ ssh: { enabled: undefined, port: undefined } })
  test.match(await read(), { sshEnabled: false, sshPort: 22 })
})

t.test('rule 1: apiPort is required; everything else keeps its value when omitted', async (test) => {
  const { put, read, call, path } = await ownFixture(test, { hasAddresses: true })
  const missing = await put({ sshPort: 2222 })
  test.match(missing.json, { code: 'INVALID_BODY', errors: [{ field: 'apiPort', code: 'REQUIRED' }] })
  test.equal((await put({ apiPort: port, ipId: HERE, sshPort: 2222, sshEnabled: false })).status, 200)
  test.equal((await put({ apiPort: 8443 })).status, 200)
  const stored = { apiPort: 8443, ipId: HERE, SSLCertificate: '', sshPort: 2222, sshEnabled: false }
  test.same(await read(), { ...stored, consoleEnabled: false })
  test.equal((await put({ apiPort: 8443, ipId: '' })).status, 200, 'every address again')
  test.equal((await read()).ipId, '')
  for (const wrong of [0, 65_536, '443', null, 1.5]) {
    test.match((await put({ apiPort: wrong })).json, { code: 'INVALID_BODY', errors: [{ field: 'apiPort' }] })
    if (wrong === null) continue
    test.match((await put({ apiPort: port, sshPort: wrong })).json, { errors: [{ field: 'sshPort' }] })
  }
  const etag = String((await call('GET', path)).headers['ETag'])
  await put({ apiPort: 8444 })
  const stale = await call('PUT', path, { body: { apiPort: 8445 }, headers: { 'if-match': etag } })
  test.match(stale.json, { code: 'REVISION_MISMATCH' })
})

t.test('ipId must be a static IP of this node', async (test) => {
  const { put } = await ownFixture(test, { hasAddresses: true })
  for (const ipId of ['nothing', ELSEWHERE, ' ']) {
    const answer = await put({ apiPort: port, ipId })
    test.equal(answer.status, 422)
    test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field: 'ipId', message: /static IP of this node/ }] })
  }
})

t.test('SSLCertificate must be a certificate, or empty for its own', async (test) => {
  const { put } = await lentFixture()
  test.match((await put({ apiPort: port, SSLCertificate: 'abc' })).json, {
    code: 'INVALID_BODY',
    errors: [{ field: 'SSLCertificate', message: /there is no certificate with id abc/ }],
  })
  test.equal((await put({ apiPort: port, SSLCertificate: '' })).status, 200)
})

t.test('API and sshd do not share a port', async (test) => {
  const { put } = await lentFixture()
  test.strictSame(problems(await put({ apiPort: 22 })), ['apiPort INVALID_BODY'])
  test.strictSame(problems(await put({ apiPort: port, sshPort: port })), ['sshPort INVALID_BODY'])
  test.strictSame(problems(await put({ apiPort: 22, sshEnabled: false })), ['apiPort INVALID_BODY'], 'it may run later')
  test.equal((await put({ apiPort: 22, sshPort: 2222 })).status, 200)
})

t.test('rule 2: console changes apply at once, the other fields wait for apply', async (test) => {
  const { put, read, pending, accounts, machine } = await ownFixture(test)
  const before = (await pending()).count
  const answer = await put({ apiPort: 8443, sshPort: 2222, consoleEnabled: true, consolePassword: PASSWORD })
  test.equal(answer.status, 200, answer.text)
  test.strictSame(accounts(), [{ verb: 'account', account: 'console', shell: true }])
  test.match(await read(), { consoleEnabled: true, apiPort: 8443, sshPort: 2222 })
  test.equal((await pending()).count, before + 1, 'the rest is pending')
  test.strictSame(machine.host.takeJournal(), [], 'and nothing else has happened')
})

t.test('apply makes the sshd settings real, and a change back is another change', async (test) => {
  const { put, call, machine, read } = await ownFixture(test)
  const reloads = () => machine.host.takeJournal().filter((entry) => entry.verb === 'unit' && entry.name === 'ssh')
  // The API really listens there.
  const [listening, next] = [await freePort(), await freePort()]
  await put({ apiPort: listening, sshPort: 2222 })
  const { changes } = (await call('GET', '/services/pending')).json.data
  test.match(changes, [{ resource: 'userInterfaces', services: ['webui', 'ssh'] }])
  test.strictSame(reloads(), [])
  test.equal((await call('PUT', '/services/apply')).status, 200)
  test.strictSame(reloads(), [{ verb: 'unit', name: 'ssh', unitVerb: 'reload' }])
  test.match(await machine.host.readFile('/etc/ssh/sshd_config.d/fulcrum.conf'), /^Port 2222$/m)
  await put({ apiPort: next })
  test.equal((await call('PUT', '/services/apply')).status, 200)
  test.strictSame(reloads(), [], 'the port of the API does not concern sshd')
  test.match(await read(), { apiPort: next, sshPort: 2222 })
})

t.test('when only the console changes, nothing is staged', async (test) => {
  const { put, pending, accounts, read } = await ownFixture(test)
  await put({ apiPort: port })
  const before = (await pending()).count
  await put({ apiPort: port, consoleEnabled: true, consolePassword: PASSWORD })
  test.equal(accounts().length, 1)
  test.equal((await pending()).count, before)
  test.equal((await read()).consoleEnabled, true)
})

t.test('rule 3: switching console access on requires consolePassword', async (test) => {
  const { put, accounts, read } = await lentFixture()
  const answer = await put({ apiPort: port, consoleEnabled: true })
  test.equal(answer.status, 422)
  test.match(answer.json, { code: 'CONSOLE_PASSWORD_REQUIRED', errors: [{ field: 'consolePassword' }] })
  test.strictSame(accounts(), [])
  test.equal((await read()).consoleEnabled, false)
})

t.test('rule 3: consolePassword is refused while console access stays off', async (test) => {
  const { put, accounts } = await lentFixture()
  for (const body of [{}, { consoleEnabled: false }]) {
    const answer = await put({ apiPort: port, consolePassword: PASSWORD, ...body })
    test.equal(answer.status, 422)
    test.match(answer.json, { code: 'CONSOLE_DISABLED', errors: [{ field: 'consolePassword' }] })
  }
  test.strictSame(accounts(), [])
})

t.test('rule 3: with console on, a password alone changes the password; omitting it changes nothing', async (test) => {
  const { put, accounts } = await lentFixture({ isOn: true })
  test.match((await put({ apiPort: port, consolePassword: PASSWORD })).json, { status: 'success' })
  test.strictSame(accounts(), [{ verb: 'account', account: 'console', shell: undefined }])
  await put({ apiPort: port, consoleEnabled: true, consolePassword: PASSWORD })
  test.strictSame(accounts(), [{ verb: 'account', account: 'console', shell: undefined }])
  await put({ apiPort: port, consoleEnabled: true })
  await put({ apiPort: port })
  test.strictSame(accounts(), [])
})

t.test('rule 3: switching off removes the shell and sets a random password', async (test) => {
  const { put, accounts, machine, read } = await ownFixture(test, { isOn: true })
  const changes: unknown[] = []
  const account = machine.host.account.bind(machine.host)
  machine.host.account = async (change) => (changes.push(change), account(change))
  await put({ apiPort: port, consoleEnabled: false })
  test.strictSame(changes, [{ account: 'console', shell: false, password: 'random' }])
  test.equal((await read()).consoleEnabled, false)
  accounts()
  await put({ apiPort: port, consoleEnabled: false })
  test.strictSame(accounts(), [], 'off stays off')
})

t.test('rule 4 is reported together with all other problems', async (test) => {
  const { put, accounts } = await lentFixture({ isOn: false })
  const answer = await put({ apiPort: 0, consoleEnabled: true, consolePassword: 'Abcdefg1' })
  test.equal(answer.status, 422)
  test.strictSame(problems(answer), ['apiPort OUT_OF_RANGE', 'consolePassword PASSWORD_POLICY'])
  test.strictSame(accounts(), [])
})

t.test('rule 4: a console password that breaks rules is refused with every one of them', async (test) => {
  const { put, accounts } = await lentFixture({ isOn: true })
  const answer = await put({ apiPort: port, consolePassword: 'a\n' })
  test.equal(answer.status, 422)
  test.equal(answer.json.code, 'PASSWORD_POLICY')
  test.strictSame(problems(answer), Array(5).fill('consolePassword PASSWORD_POLICY'))
  const rules = answer.json.errors.map(({ message }: { message: string }) => message).join()
  test.match(rules, /8 characters.*upper-case.*digit.*symbol.*control/)
  test.match((await put({ apiPort: port, consolePassword: 17 })).json, { errors: [{ field: 'consolePassword' }] })
  test.strictSame(accounts(), [])
})

t.test('rule 4: the password is never stored or returned', async (test) => {
  const { put, call, path, state, machine } = await ownFixture(test)
  const secret = 'Nie-wieder-9-gesehen'
  const answers = [await put({ apiPort: 8443, consoleEnabled: true, consolePassword: secret })]
  machine.host.account = async () => ({ exitCode: 1, output: 'chpasswd: failure' })
  answers.push(await put({ apiPort: 8444, consolePassword: secret }))
  test.equal(answers[1]?.status, 502)
  for (const shown of [path, '/services/pending', '/services/pending?render=true'])
    answers.push(await call('GET', shown))
  for (const answer of answers) test.notOk(answer.text.includes(secret))
  for (const file of readdirSync(state, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())) {
    test.notOk(readFileSync(join(file.parentPath, file.name)).includes(secret), file.name)
  }
})

t.test('rule 6: refused while a transaction is open', async (test) => {
  const { put, call, accounts, pending } = await lentFixture({ isOn: true })
  const before = (await pending()).count
  const { id } = (await call('POST', '/transactions', { body: {} })).json.data
  for (const body of [{ apiPort: 8443 }, { apiPort: port, consoleEnabled: false }, { apiPort: port, sshPort: port }]) {
    const answer = await put(body)
    test.equal(answer.status, 409)
    test.equal(answer.json.code, 'TRANSACTION_OPEN')
  }
  test.strictSame(accounts(), [])
  test.equal((await pending()).count, before)
  await call('PUT', `/transactions/${id}/rollback`)
  test.equal((await put({ apiPort: 8443 })).status, 200)
})

t.test('rule 7: console fields need the right to change the console', async (test) => {
  const { call, node, path, anonymous, login, accounts } = await lentFixture({ isOn: true })
  const endpoints: { id: string; method: string; path: string }[] = (await call('GET', '/rbac/endpoints')).json.data
  const idOf = (method: string, wanted: string) =>
    endpoints.find((endpoint) => endpoint.method === method && endpoint.path === wanted)?.id
  const both = ['GET', 'PUT'].map((method) => idOf(method, '/{applianceId}/system/userinterface'))
  const right = idOf('PUT', '/{applianceId}/system/console')
  test.type(right, 'string', 'a role can grant it')
  const tokens: Record<string, string> = {}
  for (const [name, ids] of [
    ['without', both],
    ['blind', both.slice(1)],
    ['with', [...both, right]],
  ] as const) {
    const role = (await call('POST', '/rbac/roles', { body: { name, users: [], groups: [], endpoints: ids } })).json
      .data
    const user = {
      email: `${name}@localhost`,
      firstname: 'A',
      lastname: 'B',
      password: 'a-password',
      disabled: 'false',
    }
    await call('POST', '/localUsers/users', { body: { ...user, roles: [role.id] } })
  }
  await call('PUT', '/services/apply')
  for (const name of ['without', 'blind', 'with']) tokens[name] = await login(`${name}@localhost`, 'a-password')
  accounts()
  const put = (name: string, body: object) => anonymous('PUT', path, { body, token: String(tokens[name]) })
  const fields = [{ consoleEnabled: false }, { consolePassword: PASSWORD }, { consolePassword: 'x' }]
  for (const body of fields) {
    const answer = await put('without', { apiPort: port, ...body })
    test.equal(answer.status, 403, JSON.stringify(body))
    test.match(answer.json, { code: 'PERMISSION_DENIED', message: /system\/console/ })
  }
  test.strictSame(accounts(), [])
  test.equal((await put('without', { apiPort: port, sshPort: 2222 })).status, 200, 'the other fields do not need it')
  test.equal((await put('without', { apiPort: port, consoleEnabled: true })).status, 200, 'nor does the value as read')
  for (const consoleEnabled of [true, false]) {
    const guess = await put('blind', { apiPort: port, consoleEnabled })
    test.equal(guess.status, 403, 'a user without the right to read it cannot find out whether it is on')
  }
  test.equal((await put('with', { apiPort: port, consolePassword: PASSWORD })).status, 200)
  const answer = await call('PUT', `/${node}/system/console`, { body: {} })
  test.match(answer.json, { code: 'UNKNOWN_ENDPOINT' }, 'it is a right, and not served')
})

t.test('order: fields, permission, transaction, and then all problems at once', async (test) => {
  const { put } = await lentFixture()
  const wrong = { apiPort: port, ipId: 'x', SSLCertificate: 'y', sshPort: port, consoleEnabled: true }
  test.strictSame(problems(await put(wrong)), [
    'ipId INVALID_BODY',
    'SSLCertificate INVALID_BODY',
    'sshPort INVALID_BODY',
    'consolePassword CONSOLE_PASSWORD_REQUIRED',
  ])
  const both = await put({ ...wrong, sshPort: 'x', surprise: 1 })
  test.strictSame(new Set(problems(both).map((line) => line.split(' ')[0])), new Set(['sshPort', 'surprise']))
})

t.test('a console change that fails leaves nothing staged', async (test) => {
  const { put, pending, machine, read } = await ownFixture(test)
  const before = (await pending()).count
  machine.host.account = async () => ({ exitCode: 1, output: 'usermod: cannot lock /etc/passwd' })
  const answer = await put({ apiPort: 8443, consoleEnabled: true, consolePassword: PASSWORD })
  test.equal(answer.status, 502)
  test.match(answer.json, { code: 'APPLY_PARTIAL', message: /switch console access on/ })
  test.equal((await pending()).count, before)
  test.not((await read()).apiPort, 8443)
})

t.test('in trial a console change is only recorded, and says so', async (test) => {
  const { put } = await ownFixture(test)
  const answer = await put({ apiPort: port, consoleEnabled: true, consolePassword: PASSWORD })
  test.equal(answer.headers['X-Dry-Run'], 'true')
  test.match(answer.json.message, /^Recorded only/)
  test.notOk('X-Dry-Run' in (await put({ apiPort: 8443 })).headers)
})

t.test('consoleEnabled is absent when the operating system does not report it', async (test) => {
  const { read, put, accounts } = await ownFixture(test, { isOn: undefined })
  test.notOk('consoleEnabled' in (await read()))
  test.match((await put({ apiPort: port, consoleEnabled: true })).json, { code: 'CONSOLE_PASSWORD_REQUIRED' })
  await put({ apiPort: port, consoleEnabled: false })
  test.equal(accounts().length, 1, 'off is set again to be sure')
})
