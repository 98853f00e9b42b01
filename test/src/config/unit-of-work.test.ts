import t, { type Test } from 'tap'
import { ApiError } from '../../../src/base/errors.ts'
import { silentLog } from '../../../src/base/log.ts'
import { Editing } from '../../../src/config/editing.ts'
import { Transactions } from '../../../src/config/transactions.ts'
import { type Purpose, UnitOfWork, type WorkParts } from '../../../src/config/unit-of-work.ts'
import { LostRaceError } from '../../../storage/config/entry.ts'
import { ANYTHING, configFixture, realServer, refuses } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const ANNA = { userId: 'u1', email: 'anna@localhost', sessionId: 's' }
const BERT = { userId: 'u2', email: 'bert@localhost', sessionId: 's' }
const STAGE: Purpose = { name: 'test', effect: 'stage', outsideTransactions: false }

const access = (may: () => boolean) => ({
  may,
  areaOf: () => undefined,
  isConfined: () => false,
})

function fixture(test: Test, more: Partial<WorkParts> = {}) {
  const { store, editing } = configFixture(test)
  const clock = manualClock()
  const transactions = new Transactions(store, clock, silentLog)
  const parts = { store, editing, transactions, clock, observed: undefined, access: access(ANYTHING), ...more }
  const begin = (
    purpose: Partial<Purpose> = {},
    actor = ANNA,
    ifMatch?: string,
    transactionId?: string,
    askAgain?: () => void,
  ) => new UnitOfWork(parts, { ...STAGE, ...purpose }, actor, ifMatch, transactionId, askAgain)
  const create = async (id: string, work = begin()) => {
    await work.run(() => work.section('realServers').create(realServer(id)))
    return work
  }
  return { store, transactions, begin, create }
}

t.test('staged changes of a handler are written when it returns, and reported', async (test) => {
  const { store, begin, create } = fixture(test)
  const work = await create('a')
  test.match(work.changes, [{ section: 'realServers', id: 'a', before: undefined }])
  test.match(store.changes(), [{ key: 'a', actor: ANNA.email, endpoint: 'test' }])
  const failing = begin()
  await test.rejects(async () =>
    failing.run(() => {
      failing.section('realServers').remove('a')
      throw new Error('no')
    }),
  )
  test.equal(store.changes().length, 1)
  test.same(failing.changes, [])
})

t.test('a read sees the candidate, takes no turn, and knows the revision it read', async (test) => {
  const { begin, create } = fixture(test)
  await create('a')
  const work = begin({ effect: 'read' })
  test.equal(work.tagRead, undefined)
  test.match(
    work.run(() => work.section('realServers').get('a')),
    { id: 'a' },
  )
  test.match(work.tagRead, /^\d+$/)
})

t.test('If-Match refers to the edited record', async (test) => {
  const { begin, create } = fixture(test)
  await create('a')
  const work = begin({}, ANNA, '"4711"')
  const edit = async () => work.run(() => work.section('realServers').merge('a', { weight: 1 }))
  await refuses(test, 'REVISION_MISMATCH', edit)
})

t.test('edits inside a transaction are its own; some endpoints do not take part in one', async (test) => {
  const { store, transactions, begin, create } = fixture(test)
  const { id } = await transactions.begin(ANNA)
  await create('a', begin({}, ANNA, undefined, id))
  test.same(store.changes(), [])
  test.match(transactions.list(), [{ id, count: 1 }])
  const read = begin({ effect: 'read' }, ANNA, undefined, id)
  test.match(read.section('realServers').list(), [{ id: 'a' }])
  await refuses(test, 'NOT_FOUND', () => begin({}, ANNA, undefined, 'unknown'))
  await refuses(test, 'TRANSACTION_OPEN', () => begin({ outsideTransactions: true }, ANNA, undefined, id))
})

t.test('in a transaction of another node an act sees the shared state, and an edit is refused', async (test) => {
  const { store, create } = fixture(test)
  await create('a')
  const value = { id: 't1', nodeId: 'b', owner: ANNA, openedAt_ms: 0, used: { bootId: '', uptime_ms: 0 } }
  await store.openTransactions.update(() => ({ puts: [{ key: 't1', value }], removed: [] }))
  const holders = { self: 'a', hasQuorum: true, nameOf: () => 'node b', isReachable: () => true }
  const transactions = new Transactions(store, manualClock(), silentLog, holders)
  const { begin } = fixture(test, { store, editing: new Editing(store), transactions })
  for (const effect of ['act', 'read'] as const)
    test.match(begin({ effect }, ANNA, undefined, 't1').section('realServers').list(), [{ id: 'a' }], effect)
  await refuses(test, 'TRANSACTION_OPEN', async () => create('b', begin({}, ANNA, undefined, 't1')))
  await refuses(test, 'NOT_FOUND', () => begin({ effect: 'act' }, ANNA, undefined, 't2'))
})

t.test('sections that are not managed here are read, and not edited', async (test) => {
  const refuseEdit = () => {
    throw new ApiError('NOT_SUPPORTED', 'no')
  }
  const { begin, create } = fixture(test, { observed: { refuseEdit } })
  await refuses(test, 'NOT_SUPPORTED', create('a'))
  test.same(begin({ effect: 'read' }).section('realServers').list(), [])
})

t.test('a caller who has lost the right by its turn changes nothing', async (test) => {
  const { store, begin, create } = fixture(test)
  let isLoggedIn = true
  const askAgain = () => {
    if (!isLoggedIn) throw new ApiError('TOKEN_EXPIRED', 'no')
  }
  await create('a', begin({}, ANNA, undefined, undefined, askAgain))
  isLoggedIn = false
  await refuses(test, 'TOKEN_EXPIRED', create('b', begin({}, ANNA, undefined, undefined, askAgain)))
  test.match(store.changes(), [{ key: 'a' }])
})

t.test('follow-ups of an edit run once, when it is written, however often it is begun', async (test) => {
  const { store, begin } = fixture(test)
  let others = 2
  store.orderBy({
    position: 0,
    append: async (entry) => {
      if ((others -= 1) >= 0) throw new LostRaceError(new Error('too many others'))
      await store.folding.fold(entry, store.folding.position + 1)
    },
    catchUp: async () => undefined,
  })
  const done: unknown[] = []
  let begun = 0
  const work = begin()
  await work.run(() => {
    const round = (begun += 1)
    work.section('realServers').create(realServer('a'))
    work.afterwards(async () => void done.push(round, store.changes().length))
  })
  test.same(done, [3, 1])
  const refused = begin()
  const again = async () =>
    refused.run(() => {
      refused.afterwards(async () => void done.push('refused'))
      refused.section('realServers').create(realServer('a'))
    })
  await test.rejects(again)
  test.equal(done.length, 2)
})

t.test('a user discards his own changes', async (test) => {
  const { store, begin, create } = fixture(test)
  await create('a')
  await create('b', begin({}, BERT))
  const work = begin()
  test.same(await work.run(() => work.discard('mine')), { count: 1, others: 0 })
  test.match(work.changes, [{ section: 'realServers', id: 'a', after: undefined }])
  test.match(store.changes(), [{ key: 'b' }])
})

t.test('whole sections are restored, those of access with the right to manage roles', async (test) => {
  const { store, begin } = fixture(test)
  const work = begin({ name: 'revisions.restore' })
  await work.run(() => work.restore({ realServers: [realServer('a'), realServer('b')] }))
  test.equal(store.changes().length, 2)
  const { begin: weak } = fixture(test, { access: access(() => false) })
  const refused = weak({ name: 'revisions.restore' })
  const role = { id: 'r', name: 'r', builtin: false, endpoints: [] }
  await refuses(test, 'PERMISSION_DENIED', async () => refused.run(() => refused.restore({ roles: [role] })))
})

t.test('logins, and records that went live, are kept for the audit log', async (test) => {
  const work = fixture(test).begin({ effect: 'act' })
  const user = { id: 'u', email: 'a@b', name: 'A B' }
  work.noteLogin({ user, token: 'secret', mustEnrol: false, via: 'saml', ended: ['old'] })
  test.same(work.cameIn, { name: 'a@b', via: 'saml', ended: ['old'] })
  const live = { revision: 2, told: [], more: 0 }
  work.noteLive(live)
  test.equal(work.wentLive, live)
})
