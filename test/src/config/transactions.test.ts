import t, { type Test } from 'tap'
import { IDLE_MS_MAX, Transactions } from '../../../src/config/transactions.ts'
import type { May } from '../../../src/config/needed-rights.ts'
import { silentLog } from '../../../src/base/log.ts'
import { ANYTHING, configFixture, realServer, refuses } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const ANNA = { userId: 'u1', email: 'anna@localhost', sessionId: 's' }
const BERT = { userId: 'u2', email: 'bert@localhost', sessionId: 's' }
const ORIGIN = { actor: ANNA.email, endpoint: 'test', at: '2026-01-02T03:04:05.000Z' }

function fixture(test: Test) {
  const config = configFixture(test)
  const clock = manualClock()
  const transactions = new Transactions(config.store, clock, silentLog)
  const { editing, store } = config
  const within = (id: string, work: Parameters<typeof editing.edit>[2], ifMatch?: string) =>
    editing.edit(ORIGIN, ifMatch, work, () => transactions.join(id, ANNA))
  const commit = (id: string, may: May = ANYTHING) =>
    editing.commit(
      ORIGIN,
      may,
      () => transactions.join(id, ANNA),
      () => transactions.end(id),
    )
  const candidate = () => store.candidate.list('realServers', '').map(({ value }) => Reflect.get(Object(value), 'id'))
  return { ...config, clock, transactions, within, commit, candidate }
}

t.test('edits of a transaction are seen inside it only, and become pending together', async (test) => {
  const { transactions, within, commit, candidate, store } = fixture(test)
  const { id } = await transactions.begin(ANNA)
  await within(id, (draft) => draft.section('realServers').create(realServer('a')))
  await within(id, (draft) => {
    test.equal(draft.section('realServers').get('a').name, 'a', 'the next request of it sees it')
    draft.section('realServers').create(realServer('b'))
  })
  test.same(candidate(), [])
  test.match(transactions.list(), [{ id, owner: ANNA.email, count: 2 }])
  await commit(id)
  test.same(candidate(), ['a', 'b'])
  test.equal(store.changes().length, 2)
  test.same(transactions.list(), [])
})

t.test('a rollback forgets them', async (test) => {
  const { transactions, within, candidate } = fixture(test)
  const { id } = await transactions.begin(ANNA)
  await within(id, (draft) => draft.section('realServers').create(realServer('a')))
  await transactions.end(id)
  test.same(candidate(), [])
  await refuses(test, 'NOT_FOUND', () => transactions.join(id, ANNA))
})

t.test('TRANSACTION_OPEN: a second transaction, also of two requests at once', async (test) => {
  const { transactions } = fixture(test)
  const [first, second] = await Promise.allSettled([transactions.begin(ANNA), transactions.begin(BERT)])
  test.equal(first.status, 'fulfilled')
  test.match(second, {
    status: 'rejected',
    reason: { code: 'TRANSACTION_OPEN', details: { data: { owner: ANNA.email } } },
  })
})

t.test('somebody else may not use it', async (test) => {
  const { transactions } = fixture(test)
  const { id } = await transactions.begin(ANNA)
  await refuses(test, 'PERMISSION_DENIED', () => transactions.join(id, BERT))
})

t.test('idle for fifteen minutes: rolled back; each use starts them anew', async (test) => {
  const { transactions, clock, candidate, within } = fixture(test)
  const { id } = await transactions.begin(ANNA)
  clock.advance(IDLE_MS_MAX)
  await within(id, (draft) => draft.section('realServers').create(realServer('a')))
  clock.advance(IDLE_MS_MAX)
  test.ok(transactions.list().length === 1)
  clock.advance(1)
  test.notOk(transactions.list().length === 1)
  await refuses(test, 'NOT_FOUND', () => transactions.join(id, ANNA))
  test.same(candidate(), [])
  await transactions.begin(BERT)
})

t.test('a restart of the daemon keeps it', async (test) => {
  const { transactions, within, store, clock } = fixture(test)
  const { id } = await transactions.begin(ANNA)
  await within(id, (draft) => draft.section('realServers').create(realServer('a')))
  const again = new Transactions(store, clock, silentLog)
  test.match(again.list(), [{ id, count: 1 }])
  test.match(again.join(id, ANNA).writes, [{ section: 'realServers', key: 'a', base: null }])
})

t.test(
  'REVISION_MISMATCH: a record that was edited outside it meanwhile stops the commit, which stays possible to roll back',
  async (test) => {
    const { transactions, within, commit, edit, store } = fixture(test)
    await edit((draft) => draft.section('realServers').create(realServer('a')))
    const { id } = await transactions.begin(ANNA)
    await within(id, (draft) => draft.section('realServers').merge('a', { weight: 5 }))
    await edit((draft) => draft.section('realServers').merge('a', { weight: 9 }))
    const error = await refuses(test, 'REVISION_MISMATCH', commit(id))
    test.match(error.details.data, { records: [{ resource: 'realServers', resourceId: 'a' }] })
    test.match(store.candidate.get('realServers', '', 'a')?.value, { weight: 9 })
    test.ok(transactions.list().length === 1)
  },
)

t.test('a commit is checked like any edit: names and references as they are then', async (test) => {
  const { transactions, within, commit, edit } = fixture(test)
  const { id } = await transactions.begin(ANNA)
  await within(id, (draft) => draft.section('realServers').create(realServer('a', { name: 'web' })))
  await edit((draft) => draft.section('realServers').create(realServer('b', { name: 'WEB' })))
  await refuses(test, 'NAME_NOT_UNIQUE', commit(id))
})

t.test('If-Match inside a transaction speaks of what was edited in it', async (test) => {
  const { transactions, within, edit, store } = fixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  const { id } = await transactions.begin(ANNA)
  const tag = `"${store.candidate.get('realServers', '', 'a')?.revision}"`
  const weigh = (weight: number) => (draft: Parameters<Parameters<typeof within>[1]>[0]) =>
    draft.section('realServers').merge('a', { weight })
  await within(id, weigh(1), tag)
  await refuses(test, 'REVISION_MISMATCH', within(id, weigh(2), tag))
  let read: number | undefined
  await within(id, (draft) => {
    draft.section('realServers').get('a')
    read = draft.revisionRead
  })
  await within(id, weigh(3), `"${read}"`)
})

t.test('created and removed inside it: the commit leaves nothing', async (test) => {
  const { transactions, within, commit, store } = fixture(test)
  const { id } = await transactions.begin(ANNA)
  await within(id, (draft) => draft.section('realServers').create(realServer('a')))
  await within(id, (draft) => draft.section('realServers').remove('a'))
  await commit(id)
  test.same(store.changes(), [])
})

t.test('setting the clock neither keeps an idle transaction nor ends one', async (test) => {
  const { store } = configFixture(test)
  const clock = manualClock()
  let set_ms = 0
  const moved = { ...clock, now_ms: () => clock.now_ms() + set_ms }
  const transactions = new Transactions(store, moved, silentLog)
  await transactions.begin(ANNA)
  set_ms = 24 * 3_600_000
  test.ok(transactions.list().length === 1, 'a day forward')
  const expiresAt = new Date(moved.now_ms() + IDLE_MS_MAX).toISOString()
  test.match(transactions.list(), [{ expiresAt }], 'its end is told in the time that holds now')
  set_ms = -24 * 3_600_000
  clock.advance(IDLE_MS_MAX + 1)
  test.notOk(transactions.list().length === 1, 'a day back')
})

t.test('over a start of the machine it is idle since the start', async (test) => {
  const { transactions, store, clock } = fixture(test)
  await transactions.begin(ANNA)
  let uptime_ms = IDLE_MS_MAX
  const booted = { ...clock, bootId: 'boot-2', uptime_ms: () => uptime_ms }
  const again = new Transactions(store, booted, silentLog)
  test.ok(again.list().length === 1)
  uptime_ms += 1
  test.notOk(again.list().length === 1)
})

t.test(
  'what a transaction holds is committed, and rolled back by others, with the rights for its edits',
  async (test) => {
    const { transactions, within, commit, candidate } = fixture(test)
    const { id } = await transactions.begin(ANNA)
    await within(id, (draft) => draft.section('realServers').create(realServer('a')))
    const nothing = () => false
    const error = await refuses(test, 'PERMISSION_DENIED', commit(id, nothing))
    test.match(error.details.errors, [{ field: 'realServers.a' }])
    test.same(candidate(), [], 'who lost the right meanwhile commits nothing')
    await refuses(test, 'PERMISSION_DENIED', () => transactions.refuseForeign(id, BERT, nothing))
    transactions.refuseForeign(id, BERT, (name) => name === 'realServers.create')
    transactions.refuseForeign(id, ANNA, nothing)
    await commit(id)
    test.same(candidate(), ['a'])
  },
)
