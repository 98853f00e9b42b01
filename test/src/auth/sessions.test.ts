import { createHmac, generateKeyPairSync } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { createSigner } from 'fast-jwt'
import t, { type Test } from 'tap'
import { Sessions, SESSION_LIFE_MS, SESSIONS_PER_USER_MAX } from '../../../src/auth/sessions.ts'
import type { RowChanges, SharedTable } from '../../../storage/config/config-store.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { validity } from '../../../src/base/validity.ts'
import { TOKEN_LIFE_MS, Tokens } from '../../../src/auth/token.ts'
import { openStore } from '../../fixtures/config.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

/** Key of a page. */
const KEY = 'k'.repeat(43)

const LOGIN = { via: 'password', address: '' } as const

/** The table, with all writes through `update`. */
const tableBy = (table: SharedTable, update: SharedTable['update']): SharedTable => ({
  ...table,
  update,
  put: async (key, value) => void (await update(() => ({ puts: [{ key, value }], removed: [] }))),
  remove: async (removed) => void (await update(() => ({ puts: [], removed }))),
})

function fixture(test: Test) {
  const folder = temporaryFolder(test, 'tokens')
  const keyFile = join(folder, 'key.pem')
  const store = openStore(test)
  // Tokens carry real time, so the manual clock starts now.
  const clock = manualClock(Date.now())
  const open = () => new Sessions(store.sessions, store.owed, new Tokens(keyFile), clock)
  return { keyFile, clock, open, store }
}

t.test('a token names its session, also after a restart', async (test) => {
  const { open, keyFile } = fixture(test)
  const { session, token } = await open().create('user-1', { via: 'password', address: '10.0.0.1' })
  test.match(open().authenticate(token), { id: session.id, userId: 'user-1' })
  test.equal(statSync(keyFile).mode & 0o777, 0o600)
})

t.test('a session opened without a quorum belongs to this run, until it is stored', async (test) => {
  const { store, keyFile, clock, open } = fixture(test)
  let hasQuorum = false
  const put = (key: string, value: unknown) =>
    hasQuorum ? store.sessions.put(key, value) : Promise.reject(new ApiError('NO_QUORUM', 'too few answer'))
  const table = Object.assign(Object.create(store.sessions), { put }) as typeof store.sessions
  const sessions = new Sessions(table, store.owed, new Tokens(keyFile), clock)
  const [kept, ended] = [await sessions.create('user-1', LOGIN), await sessions.create('user-2', LOGIN)]
  test.match(sessions.authenticate(kept.token), { userId: 'user-1' })
  test.equal(open().authenticate(kept.token), 'expired')
  await sessions.keepAll()
  test.equal(open().authenticate(kept.token), 'expired', 'it is not stored yet')
  await sessions.end(({ userId }) => userId === 'user-2')
  hasQuorum = true
  await sessions.keepAll()
  test.match(open().authenticate(kept.token), { userId: 'user-1' })
  test.equal(open().authenticate(ended.token), 'expired', 'a logged-out session stays ended')
  test.same(
    store.sessions.entries().map(({ key }) => key),
    [kept.session.id],
  )
})

t.test('without a quorum logins and logouts work, and a logout counts everywhere once it is back', async (test) => {
  const { store, keyFile, clock, open } = fixture(test)
  const elsewhere = open()
  let hasQuorum = true
  const update: SharedTable['update'] = (build) =>
    hasQuorum ? store.sessions.update(build) : Promise.reject(new ApiError('NO_QUORUM', 'too few answer'))
  const sessions = new Sessions(tableBy(store.sessions, update), store.owed, new Tokens(keyFile), clock)
  await sessions.create('user-1', LOGIN)
  clock.advance(SESSION_LIFE_MS - 1)
  await sessions.create('user-2', LOGIN)
  hasQuorum = false
  const out = sessions.end(({ userId }) => userId === 'user-2')
  await test.rejects(out, { code: 'NO_QUORUM', message: /has ended on this node/ }, 'the others do not know of it yet')
  test.same([sessions.list('user-2').length, elsewhere.list('user-2').length], [0, 1])
  test.equal(open().list('user-2').length, 0, 'nor does a start of this node bring it back')
  clock.advance(1)
  for (let n = 0; n <= SESSIONS_PER_USER_MAX; n++) {
    const { token } = await sessions.create('user-3', LOGIN)
    test.match(sessions.authenticate(token), { userId: 'user-3' })
  }
  test.equal(await sessions.end(({ userId }) => userId === 'user-3'), SESSIONS_PER_USER_MAX, "no other user's sessions")
  hasQuorum = true
  await open().end(() => false)
  test.equal(elsewhere.list('user-2').length, 0, 'the next run of the daemon tells the others as well')
  await sessions.end(() => false)
  test.same([...store.sessions.entries()], [])
})

t.test('a session that ends elsewhere during the setup of a second factor does not come back', async (test) => {
  const { store, keyFile, clock, open } = fixture(test)
  const elsewhere = open()
  const update: SharedTable['update'] = async (build) => {
    if (sessions.isLimited(made.session.id)) await elsewhere.end(() => true)
    return store.sessions.update(build)
  }
  const sessions = new Sessions(tableBy(store.sessions, update), store.owed, new Tokens(keyFile), clock)
  const made = await elsewhere.create('user-1', { ...LOGIN, isLimited: true })
  await sessions.lift(made.session.id)
  test.equal(sessions.authenticate(made.token), 'expired')
  test.same([...store.sessions.entries()], [])
})

t.test('ending a session revokes its tokens at once, also those already verified', async (test) => {
  const { open } = fixture(test)
  const sessions = open()
  const { token } = await sessions.create('user-1', { via: 'password', address: '' })
  const other = await sessions.create('user-2', { via: 'password', address: '' })
  test.match(sessions.authenticate(token), { userId: 'user-1' })
  await sessions.end((session) => session.userId === 'user-1')
  test.equal(sessions.authenticate(token), 'expired')
  test.match(sessions.authenticate(other.token), { userId: 'user-2' })
  test.equal(open().authenticate(token), 'expired')
})

t.test('a token lives one hour, its session twelve; a refreshed token never outlives the session', async (test) => {
  const { open, clock } = fixture(test)
  const sessions = open()
  const { session, token } = await sessions.create('user-1', { via: 'password', address: '' })
  test.match(sessions.authenticate(token), { userId: 'user-1' })
  clock.advance(TOKEN_LIFE_MS)
  test.equal(sessions.authenticate(token), 'expired')
  clock.advance(SESSION_LIFE_MS - TOKEN_LIFE_MS - 60_000)
  const last = sessions.token(session.id)
  test.match(sessions.authenticate(last), { userId: 'user-1' })
  clock.advance(60_000)
  test.equal(sessions.authenticate(last), 'expired')
})

t.test('forged tokens are invalid', async (test) => {
  const { open, clock } = fixture(test)
  const sessions = open()
  const { session, token } = await sessions.create('user-1', { via: 'password', address: '' })
  const claims = { sub: 'user-1', sid: session.id, exp: Math.floor(clock.now_ms() / 1000) + 600 }
  const foreign = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const none = `${Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.`
  const [header = '', payload = '', signature = ''] = token.split('.')
  const confused = `${Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url')}.${payload}`
  const forged = {
    'another key': createSigner({ algorithm: 'EdDSA', key: foreign })(claims),
    'no algorithm': none,
    'a symmetric algorithm': `${confused}.${createHmac('sha256', 'x').update(confused).digest('base64url')}`,
    'a changed payload': `${header}.${Buffer.from(JSON.stringify({ ...claims, sub: 'user-2' })).toString('base64url')}.${signature}`,
    'a cut signature': token.slice(0, -4),
    nothing: '',
    garbage: 'a.b.c',
  }
  for (const [title, candidate] of Object.entries(forged)) {
    test.equal(sessions.authenticate(candidate), 'invalid', title)
    test.notOk(sessions.isIssued(candidate), title)
  }
  test.ok(sessions.isIssued(token))
})

t.test('a token of another node is issued before its session is known here, until it expires', async (test) => {
  const { store, keyFile, clock } = fixture(test)
  const other = new Tokens(join(temporaryFolder(test, 'tokens'), 'key.pem'))
  const own = new Tokens(keyFile)
  const sessions = new Sessions(store.sessions, store.owed, own, clock)
  const tokenUntil = (exp_s: number) => other.sign({ sub: 'user-1', sid: 'session-1', exp: exp_s }, 'jti')
  const [now_s, claims] = [Math.floor(Date.now() / 1000), { sub: 'user-1', sid: 'session-1' }]
  const token = tokenUntil(now_s + 600)
  test.notOk(sessions.isIssued(token), 'by nobody in this cluster')
  own.trust([other.publicKey])
  test.ok(sessions.isIssued(token))
  test.equal(sessions.authenticate(token), 'expired')
  test.notOk(sessions.isIssued(tokenUntil(now_s - 1)))
  test.notOk(sessions.isIssued(other.signTicket({ ...claims, exp: now_s + 600 }, 'jti')), 'a ticket is no token')
})

t.test('a user has fifty sessions: a new one ends the oldest, and no other user loses any', async (test) => {
  const { open, clock } = fixture(test)
  const sessions = open()
  const how = { via: 'password', address: '' } as const
  const other = await sessions.create('user-2', how)
  const made = []
  for (let n = 0; n < SESSIONS_PER_USER_MAX; n++) {
    clock.advance(1)
    made.push(await sessions.create('user-1', how))
  }
  test.ok(made.every(({ ended }) => ended.length === 0))
  const { ended } = await sessions.create('user-1', how)
  test.same(ended, [made[0]?.session.id])
  for (const one of [sessions, open()]) {
    test.equal(one.authenticate(made[0]?.token ?? ''), 'expired')
    test.match(one.authenticate(made[1]?.token ?? ''), { userId: 'user-1' })
    test.match(one.authenticate(other.token), { userId: 'user-2' })
    test.equal(one.list('user-1').length, SESSIONS_PER_USER_MAX)
  }
})

t.test('the introduction of a user without a record is kept, and the last login counts', async (test) => {
  const { open, clock } = fixture(test)
  const sessions = open()
  const how = (groups: readonly string[]) =>
    ({ via: 'oidc', address: '', introduction: { email: 'ann@corp.example', source: '[]', groups } }) as const
  const one = await sessions.create('ann', how(['/a', '/b']))
  clock.advance(1)
  const same = await sessions.create('ann', how(['/a', '/b']))
  await sessions.create('local', { via: 'oidc', address: '' })
  test.same(same.ended, [])
  clock.advance(1)
  const fewer = await sessions.create('ann', how(['/a']))
  test.same(fewer.ended, [one.session.id, same.session.id], 'no session continues with the earlier groups')
  test.equal(sessions.authenticate(one.token), 'expired')
  for (const each of [sessions, open()]) {
    test.same(each.introductionOf('ann')?.groups, ['/a'])
    test.equal(each.introductionOf('local'), undefined)
  }
  const again = await sessions.create('ann', how(['/a']))
  await sessions.end(({ id }) => id === again.session.id)
  test.same(sessions.introductionOf('ann')?.groups, ['/a'], 'of the remaining session')
  await sessions.end(({ userId }) => userId === 'ann')
  test.equal(sessions.introductionOf('ann'), undefined)
  await sessions.create('ann', how(['/a']))
  clock.advance(SESSION_LIFE_MS)
  test.equal(sessions.introductionOf('ann'), undefined)
})

t.test('two concurrent logins of one person with different introductions both succeed', async (test) => {
  const { open } = fixture(test)
  const sessions = open()
  const how = (group: string) =>
    ({ via: 'oidc', address: '', introduction: { email: 'ann@corp.example', source: '[]', groups: [group] } }) as const
  const made = await Promise.all(['/a', '/b', '/c'].map((group) => sessions.create('ann', how(group))))
  test.equal(made.length, 3)
  test.equal(sessions.list('ann').length, 1)
})

t.test('a token of a node that is no longer trusted ends, although it was verified before', async (test) => {
  const { keyFile, clock, store } = fixture(test)
  const [ours, theirs] = [new Tokens(keyFile), new Tokens(`${keyFile}.other`)]
  const sessions = new Sessions(store.sessions, store.owed, ours, clock)
  const { token } = await new Sessions(store.sessions, store.owed, theirs, clock).create('user-1', {
    via: 'password',
    address: '',
  })
  ours.trust([theirs.publicKey])
  test.match(sessions.authenticate(token), { userId: 'user-1' })
  ours.trust([])
  sessions.verifyAnew()
  test.equal(sessions.authenticate(token), 'invalid')
})

t.test('a ticket yields fresh tokens for as long as its session lives', async (test) => {
  const { open, clock } = fixture(test)
  const sessions = open()
  const { session, token } = await sessions.create('user-1', { via: 'password', address: '' })
  const ticket = sessions.ticket(session.id, KEY)
  test.equal(sessions.authenticate(ticket), 'invalid', 'the ticket alone opens nothing')
  test.match(sessions.authenticate(open().resume(ticket, KEY) ?? ''), { id: session.id }, 'also after a restart')
  test.equal(sessions.resume(token, KEY), undefined)
  test.equal(sessions.resume('', KEY), undefined)
  test.equal(sessions.resume(ticket, ''), undefined, 'nor without the key of its page')
  await sessions.end(({ id }) => id === session.id)
  test.equal(sessions.resume(ticket, KEY), undefined, 'it ends with a logout')
  const later = await sessions.create('user-1', { via: 'password', address: '' })
  const kept = sessions.ticket(later.session.id, KEY)
  clock.advance(SESSION_LIFE_MS)
  test.equal(sessions.resume(kept, KEY), undefined, 'and after twelve hours')
})

t.test('after a login at another node with fewer groups the rights here shrink at once', async (test) => {
  let follow: (changes: RowChanges) => void = () => undefined
  const table = {
    entries: () => [],
    put: async () => undefined,
    remove: async () => undefined,
    follow: (tell: typeof follow) => (follow = tell),
  }
  const { keyFile, store } = fixture(test)
  const sessions = new Sessions(table as never, store.owed, new Tokens(keyFile), manualClock(Date.now()))
  const opened = (id: string, createdAt_ms: number, groups: readonly string[]) => ({
    key: id,
    value: {
      id,
      userId: 'ann',
      createdAt_ms,
      expiresAt_ms: Date.now() + SESSION_LIFE_MS,
      address: '',
      via: 'oidc',
      introduction: { email: 'ann@corp.example', source: '[]', groups },
    },
  })
  follow({ puts: [opened('1', 1, ['/administrators'])], removed: [] })
  const before = validity.rights
  follow({ puts: [opened('2', 2, [])], removed: [] })
  test.same(sessions.introductionOf('ann')?.groups, [], 'the last login counts, for the earlier session as well')
  test.not(validity.rights, before)
})
