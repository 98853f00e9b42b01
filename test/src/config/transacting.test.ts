import t from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import { createTransacting } from '../../../src/config/transacting.ts'
import { Transactions } from '../../../src/config/transactions.ts'
import { askedBy, configFixture, realServer, refuses } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const ANNA = { userId: 'u1', email: 'anna@localhost', sessionId: 's' }
const BERT = { userId: 'u2', email: 'bert@localhost', sessionId: 's' }

t.test('one is committed by its owner, and rolled back by others with the rights for its edits', async (test) => {
  const { store, editing } = configFixture(test)
  const clock = manualClock()
  const held = new Transactions(store, clock, silentLog)
  const transactions = createTransacting({ transactions: held, editing, clock })
  const origin = { actor: ANNA.email, endpoint: 'test', at: '2026-01-02T03:04:05.000Z' }
  const begin = async (name: string) => {
    const { id } = await transactions.begin(ANNA)
    const create = (draft: Parameters<Parameters<typeof editing.edit>[2]>[0]) =>
      draft.section('realServers').create(realServer(name))
    await editing.edit(origin, undefined, create, { join: () => held.join(id, ANNA) })
    return id
  }
  const first = await begin('a')
  await refuses(test, 'TRANSACTION_OPEN', () => transactions.refuseOpen())
  await refuses(test, 'PERMISSION_DENIED', transactions.commit(first, askedBy(BERT)))
  await transactions.commit(first, askedBy(ANNA))
  test.match(store.changes(), [{ key: 'a', actor: ANNA.email, endpoint: 'transactions.commit' }])
  const second = await begin('b')
  test.match(transactions.list(), [{ id: second, count: 1 }])
  await refuses(
    test,
    'PERMISSION_DENIED',
    transactions.rollback(
      second,
      askedBy(BERT, () => false),
    ),
  )
  await transactions.rollback(second, askedBy(BERT))
  test.same(transactions.list(), [])
  test.equal(store.changes().length, 1)
})
