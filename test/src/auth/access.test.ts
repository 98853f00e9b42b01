import t, { type Test } from 'tap'
import { ADMINISTRATOR, endpointId } from '../../../src/api/access.ts'
import { type Endpoint, endpoint } from '../../../src/api/endpoint.ts'
import { AccessControl } from '../../../src/auth/access.ts'
import { passwordWasShown } from '../../../src/auth/first-start.ts'
import type { Amend } from '../../../src/auth/login.ts'
import { configView, recordChange } from '../../../src/config/views.ts'
import type { Draft } from '../../../src/config/draft.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { EVERYTHING } from '../../fixtures/backup.ts'
import { askedBy, configFixture, realServer, refuses } from '../../fixtures/config.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { silentLog } from '../../../src/base/log.ts'
import { validity } from '../../../src/base/validity.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { amendIn, promoteIn } from '../../fixtures/entries.ts'

const PASSWORD = 'correct horse'
const common = { effect: 'read', staged: false, summary: 's', message: 'm', handle: () => undefined } as const
const table: readonly Endpoint[] = [
  endpoint({ ...common, name: 'a.get', method: 'GET', path: '/a' }),
  endpoint({ ...common, name: 'b.get', method: 'GET', path: '/b' }),
]

async function fixture(test: Test, endpoints = table) {
  const { store, edit, promote } = configFixture(test)
  const clock = manualClock(Date.now())
  const administrator = { email: 'admin@localhost', password: PASSWORD }
  const parts = { store, running: configView(store.running), endpoints, clock, log: silentLog, administrator }
  const stateFolder = temporaryFolder(test, 'access')
  const external = { authenticate: async () => ({ outcome: 'off' as const }) }
  const amend: Amend = async (section, id, change) => {
    const key = { section, scope: '', key: id }
    const before = store.running.get(section, '', id)
    await amendIn(store, key, change(configView(store.running).get(section, id)))
    const after = store.running.get(section, '', id)
    const at = { id, revision: 0, actor: 'test', endpoint: 'test', at: '' }
    await access.onPromoted([recordChange({ ...at, ...key, before, after })])
  }
  /** A start up to the point where the administrator is announced. */
  const open = async () => {
    const opened = await AccessControl.open({ ...parts, stateFolder, external, amend })
    await passwordWasShown(store)
    return opened
  }
  const access: AccessControl = await open()
  /** Stages and applies, as the engine does. */
  const change = async (work: (draft: Draft) => void) => {
    await edit(work)
    const changes = store.changes()
    await promote(changes)
    await access.onPromoted(changes.map(recordChange))
  }
  const addUser = async (id: string, roles: readonly string[] = []) => {
    const passwordHash = await access.passwords.hash(PASSWORD)
    const names = { email: `${id}@localhost`, firstName: 'A', lastName: 'B' }
    await change((draft) =>
      draft.section('users').create({ id, ...names, disabled: false, passwordHash, groups: [], roles: [...roles] }),
    )
    return (await access.login.login({ email: names.email, password: PASSWORD }, '192.0.2.1')).token
  }
  const codeOf = (token: string) => {
    const who = access.authenticate(token)
    return who instanceof ApiError ? who.code : [...who.rights.granted]
  }
  return { access, open, change, addUser, codeOf, edit, promote, clock, store }
}

t.test('the first administrator may do everything, also after a restart', async (test) => {
  const { access, open } = await fixture(test)
  test.match(access.firstAdministrator, { email: 'admin@localhost', oneTimePassword: undefined })
  const { token } = await access.login.login({ email: 'admin@localhost', password: PASSWORD }, '192.0.2.1')
  test.match(access.authenticate(token), { rights: { email: 'admin@localhost' } })
  const again = await open()
  test.equal(again.firstAdministrator, undefined)
  const who = again.authenticate(token)
  test.same(who instanceof ApiError ? who : [...who.rights.granted], [1, 1])
})

t.test('an invalid token, an ended session and an unknown user are distinguished', async (test) => {
  const { access, addUser, codeOf, clock, change } = await fixture(test)
  const token = await addUser('u')
  test.equal(codeOf('a.b.c'), 'UNAUTHENTICATED')
  test.equal(codeOf(''), 'UNAUTHENTICATED')
  test.same(codeOf(token), [0, 0])
  await change((draft) => draft.section('users').remove('u'))
  test.equal(codeOf(token), 'TOKEN_EXPIRED', 'the session ended with the user')
  const orphan = await access.sessions.create('nobody', { via: 'password', address: '192.0.2.1' })
  test.equal(codeOf(orphan.token), 'UNAUTHENTICATED')
  const last = await addUser('v')
  clock.advance(3_600_000)
  test.equal(codeOf(last), 'TOKEN_EXPIRED')
})

t.test('an unrelated apply leaves the rights as they are', async (test) => {
  const { access, addUser, change } = await fixture(test)
  const token = await addUser('u')
  const rights = () => {
    const who = access.authenticate(token)
    return who instanceof ApiError ? who : who.rights
  }
  const before = rights()
  await change((draft) => draft.section('realServers').create(realServer('a')))
  test.equal(rights(), before, 'not compiled again')
  await change((draft) => draft.section('roles').create({ id: 'r', name: 'r', builtin: false, endpoints: [] }))
  test.not(rights(), before)
})

t.test('new rights count from the next request on, with the same token', async (test) => {
  const { addUser, codeOf, change, edit } = await fixture(test)
  const token = await addUser('u')
  const grant = endpointId({ method: 'GET', path: '/b' })
  const give = (draft: Draft) => {
    draft.section('roles').create({ id: 'r', name: 'r', builtin: false, endpoints: [grant] })
    draft.section('users').merge('u', { roles: ['r'] })
  }
  await edit(give)
  test.same(codeOf(token), [0, 0], 'only staged')
  await change(() => undefined)
  test.same(codeOf(token), [0, 1])
  await change((draft) => draft.section('roles').merge('r', { endpoints: [] }))
  test.same(codeOf(token), [0, 0])
  await change((draft) => draft.section('users').merge('u', { roles: [ADMINISTRATOR.id] }))
  test.same(codeOf(token), [1, 1])
})

t.test('a caller from another node has the rights granted here, and a program no more than its token', async (test) => {
  const { access, addUser, change } = await fixture(test)
  await addUser('u', [ADMINISTRATOR.id])
  const [a, b] = table.map((one) => endpointId(one))
  const of = (sessionId: string, endpoints?: readonly (string | undefined)[]) => {
    const limits = endpoints === undefined ? {} : { endpoints: endpoints.map(String) }
    const who = access.authenticate({ userId: 'u', sessionId, ...limits })
    return who instanceof ApiError ? who.code : [...who.rights.granted]
  }
  test.same(of('session-of-another-node'), [1, 1])
  test.same(of('token t1', [a]), [1, 0])
  test.ok(access.may({ userId: 'u', sessionId: 'token t1' }, 'a.get'))
  test.notOk(access.may({ userId: 'u', sessionId: 'token t1' }, 'b.get'))
  test.same(of('token t1', [b]), [0, 1], 'each request by its own limits')
  test.same(of('token t1', []), [0, 0])
  test.same(of('token t2'), [1, 1])
  await change((draft) => draft.section('users').merge('u', { roles: [] }))
  test.same(of('token t2'), [0, 0])
  const author = { userId: 'u', email: 'u@localhost', sessionId: 'session-of-another-node' }
  test.throws(() => access.assertStill(author, ['a.get']), { code: 'PERMISSION_DENIED' })
  await change((draft) => draft.section('users').merge('u', { roles: [ADMINISTRATOR.id] }))
  access.assertStill(author, ['a.get'])
  await change((draft) => draft.section('users').remove('u'))
  test.same(of('session-of-another-node'), 'UNAUTHENTICATED')
})

t.test('a disabled user or a new password is logged out; another change keeps the session', async (test) => {
  const { access, addUser, codeOf, change, store } = await fixture(test)
  const [kept, disabled, renewed] = [await addUser('kept'), await addUser('disabled'), await addUser('renewed')]
  const passwordHash = await access.passwords.hash('another password')
  await change((draft) => {
    draft.section('users').merge('kept', { email: 'renamed@localhost', lastName: 'C' })
    draft.section('users').merge('disabled', { disabled: true })
    draft.section('users').merge('renewed', { passwordHash })
  })
  test.same(codeOf(kept), [0, 0])
  test.equal(codeOf(disabled), 'TOKEN_EXPIRED')
  test.equal(codeOf(renewed), 'TOKEN_EXPIRED')
  test.match(
    store.sessions.entries().map(({ value }) => value),
    [{ userId: 'kept' }],
  )
  await change((draft) => draft.section('users').merge('disabled', { disabled: false }))
  test.equal(codeOf(disabled), 'TOKEN_EXPIRED', 'an ended session stays ended')
})

t.test('earlier requests are carried out with the current rights', async (test) => {
  const { access, change, addUser, clock } = await fixture(test)
  await change((draft) =>
    draft
      .section('roles')
      .create({ id: 'r', name: 'r', builtin: false, endpoints: [endpointId({ method: 'GET', path: '/a' })] }),
  )
  const asked = access.authenticate(await addUser('u', ['r']))
  const session = asked instanceof ApiError ? '' : asked.sessionId
  const author = { userId: 'u', email: 'u@localhost', sessionId: 'ended-long-ago' }
  access.assertStill(author, ['a.get'])
  access.assertStill({ ...author, userId: '' }, ['a.get'])
  const refusal = (who = author, wanted = ['a.get']) => {
    try {
      access.assertStill(who, wanted)
    } catch (error) {
      return error instanceof ApiError && error.code === 'PERMISSION_DENIED' ? error.message : undefined
    }
    return undefined
  }
  test.match(refusal(author, ['a.get', 'b.get']), /no role grants b\.get/)
  test.match(refusal({ userId: '', email: 'nobody@localhost', sessionId: '' }), /deleted or disabled/)
  const tokens = access.account
  const wanted = { name: 't', endpoints: undefined, expiresInDays: null }
  await refuses(test, 'UNAUTHENTICATED', tokens.createToken(askedBy(author), wanted))
  const { id } = await tokens.createToken(askedBy({ ...author, sessionId: session }), wanted)
  const program = { ...author, sessionId: `token ${id}` }
  test.equal(refusal(program), undefined, 'also after a start, before the token is used')
  await tokens.revokeToken(id, undefined)
  test.match(refusal(program), /token was revoked/)
  clock.advance(13 * 3_600_000)
  await change((draft) => draft.section('users').merge('u', { disabled: true }))
  test.match(refusal(), /deleted or disabled/)
  await change((draft) => draft.section('users').remove('u'))
  test.match(refusal(), /deleted or disabled/)
})

t.test('a confined right covers its area, also for another node, and until it is withdrawn', async (test) => {
  const halt = endpoint({ ...common, name: 'realServers.halt', method: 'PUT', path: '/r' })
  const { access, change, addUser } = await fixture(test, [...table, halt])
  const confined = (names: string[]) => [{ endpoint: endpointId(halt), where: { names } }]
  await change((draft) =>
    draft
      .section('roles')
      .create({ id: 'r', name: 'r', builtin: false, endpoints: [], confined: confined(['shop-*']) }),
  )
  await addUser('u', ['r'])
  const [shop, bank] = ['shop-1', 'bank-1'].map((name) => {
    const record = realServer(name)
    return { section: 'realServers', before: record, after: record }
  })
  const author = { userId: 'u', email: 'u@localhost', sessionId: 'session-of-another-node' }
  test.match(access.authenticate(author), { rights: { granted: [0, 0, 2] } })
  test.ok(access.isConfined(author))
  test.notOk(access.may(author, 'realServers.halt'), 'code that does not check areas refuses')
  test.ok(access.may(author, 'realServers.halt', shop))
  test.notOk(access.may(author, 'realServers.halt', bank))
  test.notOk(access.may(author, 'a.get', shop))
  test.ok(access.areaOf(author, 'realServers.halt')?.has(realServer('shop-2')))
  test.equal(access.areaOf(author, 'a.get'), undefined, 'it concerns no records that can be confined')
  // A token is limited further; the rights of its user can change while a request with it waits.
  const program = { ...author, sessionId: 'token of-another-node' }
  const admit = (endpoints: string[]) => access.authenticate({ ...program, endpoints })
  admit([endpointId(halt)])
  access.assertStill(author, ['realServers.halt'], shop)
  for (const touched of [bank, undefined])
    test.throws(() => access.assertStill(author, ['realServers.halt'], touched), { code: 'PERMISSION_DENIED' })
  await change((draft) => draft.section('roles').merge('r', { confined: confined(['bank-*']) }))
  test.throws(() => access.assertStill(author, ['realServers.halt'], shop), { code: 'PERMISSION_DENIED' })
  for (const caller of [author, program]) {
    test.notOk(access.may(caller, 'realServers.halt', shop), caller.sessionId)
    test.ok(access.may(caller, 'realServers.halt', bank), caller.sessionId)
    test.ok(access.isConfined(caller), caller.sessionId)
    test.equal(access.areaOf(caller, 'realServers.halt')?.has(realServer('shop-2')), false, caller.sessionId)
  }
  admit([])
  test.notOk(access.may(program, 'realServers.halt', bank))
  const nobody = { userId: 'nobody', sessionId: '' }
  test.ok(access.isConfined(nobody), 'a caller without rights is confined')
  await change((draft) => draft.section('users').merge('u', { roles: [] }))
  for (const caller of [author, program, nobody]) {
    test.equal(access.areaOf(caller, 'realServers.halt')?.has(realServer('bank-1')), false)
  }
})

t.test('a user who loses a group by a login at another node loses its rights here as well', async (test) => {
  const { access, change, store } = await fixture(test)
  const endpoints = [endpointId({ method: 'GET', path: '/a' })]
  await change((draft) => {
    draft.section('roles').create({ id: 'r', name: 'r', builtin: false, endpoints })
    draft.section('groups').create({ id: 'g', name: 'g', roles: ['r'] })
    const groupMappings = [{ value: 'ops', groupId: 'g' }]
    for (const config of EVERYTHING.radiusConfigs) draft.section('radiusConfigs').put({ ...config, groupMappings })
    const named = { id: 'u', username: 'u', createdAt: '2026-01-02T03:04:05.000Z' }
    draft.section('radiusUsers').create({ ...named, disabled: false, groups: ['g'] })
  })
  const { token } = await access.sessions.create('u', { via: 'radius', address: '192.0.2.1' })
  const granted = () => {
    const who = access.authenticate(token)
    return who instanceof ApiError ? who.code : [...who.rights.granted]
  }
  test.same(granted(), [1, 0])
  const { rights } = validity
  // As it arrives through the log: nothing on this node requested it.
  await amendIn(store, { section: 'radiusUsers', scope: '', key: 'u' }, { groups: [] })
  test.same(granted(), [0, 0])
  test.ok(validity.rights > rights, 'other threads ask again')
  await amendIn(store, { section: 'radiusUsers', scope: '', key: 'u' }, { groups: ['g'] })
  test.same(granted(), [1, 0])
  await amendIn(store, { section: 'groups', scope: '', key: 'g' }, { roles: [] })
  test.same(granted(), [0, 0], 'and the same for rights of the group')
})

t.test('switching RADIUS off ends the sessions of its users, also for the time when it is on again', async (test) => {
  const { access, change, codeOf } = await fixture(test)
  const isOn = (enabled: boolean) =>
    change((draft) => {
      for (const config of EVERYTHING.radiusConfigs)
        draft.section('radiusConfigs').put({ ...config, groupMappings: [], enabled })
    })
  await isOn(true)
  await change((draft) => {
    for (const user of EVERYTHING.radiusUsers)
      draft.section('radiusUsers').create({ ...user, id: 'u', disabled: false, groups: [] })
  })
  const { token } = await access.sessions.create('u', { via: 'radius', address: '192.0.2.1' })
  test.same(codeOf(token), [0, 0])
  await isOn(false)
  await isOn(true)
  test.equal(codeOf(token), 'TOKEN_EXPIRED')
})

t.test('a start alone writes nothing; sessions left by a crash are ended on request', async (test) => {
  const { addUser, edit, promote, store, open } = await fixture(test)
  await addUser('gone')
  await addUser('here')
  const left = () => [...store.sessions.entries()].map(({ value }) => String(Object(value).userId)).toSorted()
  // The daemon ended before it could end the sessions of the deleted user.
  await edit((draft) => draft.section('users').remove('gone'))
  await promote()
  const access = await open()
  test.same(left(), ['gone', 'here'])
  await access.endNobodys()
  test.same(left(), ['here'])
})

t.test('sessions that an apply ends are ended after a crash directly behind its promotion', async (test) => {
  const { access, addUser, edit, store, clock, open } = await fixture(test)
  const tokenOf = (userId: string) =>
    access.account.createToken(askedBy({ userId, email: '', sessionId: access.sessions.list(userId)[0]?.id ?? '' }), {
      name: 'backup',
      endpoints: undefined,
      expiresInDays: null,
    })
  for (const id of ['gone', 'renewed', 'here']) {
    await addUser(id)
    await tokenOf(id)
  }
  clock.advance(1000)
  const passwordHash = await access.passwords.hash('another horse')
  await edit((draft) => {
    draft.section('users').remove('gone')
    draft.section('users').merge('renewed', { passwordHash })
  })
  const at = new Date(clock.now_ms()).toISOString()
  const header = { applyId: 'a', revision: store.revision + 1, by: 'tester', at, comment: '' }
  await promoteIn(store, store.changes(), header)
  clock.advance(1000)
  // By a user who already knows the new password.
  const { session } = await access.sessions.create('renewed', { via: 'password', address: '' })
  const started = await open()
  await started.endNobodys()
  test.same(
    started.sessions.list().map(({ userId }) => userId),
    ['here', 'renewed'],
  )
  test.same([started.sessions.list('renewed')[0]?.id], [session.id])
  test.same(
    started.account
      .tokens()
      .map(({ userId }) => userId)
      .toSorted(),
    ['here', 'renewed'],
    'a restored user brings no token back',
  )
})

t.test('a password changed at another node ends sessions that this one opened without a quorum', async (test) => {
  const { access, addUser, store } = await fixture(test)
  await addUser('ann')
  await addUser('bob')
  await access.sessions.end(() => true)
  const logIn = async (id: string) => {
    const { token } = await access.login.login({ email: `${id}@localhost`, password: PASSWORD }, '192.0.2.1')
    return token
  }
  store.sessions.put = () => Promise.reject(new ApiError('NO_QUORUM', 'too few answer'))
  const [ann, bob] = [await logIn('ann'), await logIn('bob')]
  test.same([...store.sessions.entries()], [])
  // As it arrives through the log, when there is a quorum again.
  const renew = async (id: string, password: string) =>
    amendIn(store, { section: 'users', scope: '', key: id }, { passwordHash: await access.passwords.hash(password) })
  await amendIn(store, { section: 'users', scope: '', key: 'ann' }, { secondFactor: undefined })
  test.match(access.authenticate(ann), { rights: { userId: 'ann' } }, 'another change ends nothing')
  await renew('ann', 'another horse')
  test.match(access.authenticate(ann), { code: 'TOKEN_EXPIRED' })
  test.match(access.authenticate(bob), { rights: { userId: 'bob' } })
  await access.account.changePassword(
    askedBy({ userId: 'bob', email: '', sessionId: access.sessions.list('bob')[0]?.id ?? '' }),
    PASSWORD,
    'another horse',
  )
  test.match(access.authenticate(bob), { rights: { userId: 'bob' } }, 'the session that changes it stays')
  await amendIn(store, { section: 'users', scope: '', key: 'bob' }, { secondFactor: undefined })
  test.match(access.authenticate(bob), { rights: { userId: 'bob' } })
  await renew('bob', 'a third horse')
  test.match(access.authenticate(bob), { code: 'TOKEN_EXPIRED' })
})
