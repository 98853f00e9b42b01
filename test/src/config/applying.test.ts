import t, { type Test } from 'tap'
import { ApplyEngine } from '../../../src/config/apply.ts'
import { Applying } from '../../../src/config/applying.ts'
import type { AppliedHere } from '../../../src/context/applying.ts'
import { Transactions } from '../../../src/config/transactions.ts'
import type { PlanResult } from '../../../src/drivers/driver.ts'
import { silentLog } from '../../../src/base/log.ts'
import { askedBy, backend, configFixture, ENGINE_DEFAULTS, realServer, refuses } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const ANNA = { userId: 'u1', email: 'anna@localhost', sessionId: 's' }
const BERT = { userId: 'u2', email: 'bert@localhost', sessionId: 's' }
const ORIGIN = { actor: ANNA.email, endpoint: 'test', at: '2026-01-02T03:04:05.000Z' }

function fixture(test: Test, problems: { list: readonly string[] } = { list: [] }) {
  const config = configFixture(test)
  const { store, editing } = config
  const clock = manualClock()
  const transactions = new Transactions(store, clock, silentLog)
  const execute = async (): Promise<PlanResult> => ({ ok: true, done: 0, recorded: 0, warnings: [] })
  const rules = [
    () => problems.list.map((message) => ({ section: undefined, id: undefined, field: undefined, message })),
  ]
  const executor = { execute, check: execute }
  const engine = new ApplyEngine({ ...ENGINE_DEFAULTS, store, drivers: [], executor, clock, rules })
  const others = new Map<string, AppliedHere | undefined>()
  const asked = { times: 0 }
  const askOthers = async () => {
    asked.times += 1
    return new Map(others)
  }
  const applying = new Applying({
    engine,
    transactions,
    editing,
    store,
    clock,
    nodeId: 'node-1',
    observed: undefined,
    askOthers,
  })
  const apply = (id: string, may?: () => boolean, confirmWithin?: number) =>
    applying.apply({ force: undefined, transactionId: id, confirmWithin }, askedBy(ANNA, may))
  const within = (id: string, work: Parameters<typeof editing.edit>[2]) =>
    editing.edit(ORIGIN, undefined, work, { join: () => transactions.join(id, ANNA) })
  const running = (id: string) => store.running.get('realServers', '', id)
  return { ...config, clock, transactions, engine, apply, applying, others, asked, within, running }
}

t.test('its edits run, its author is kept, and changes of others stay pending', async (test) => {
  const { store, edit, promote, transactions, within, apply, running } = fixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a', { weight: 1 })))
  await promote()
  await edit((draft) => draft.section('realServers').create(realServer('other')))
  const before = running('a')?.revision ?? 0
  const { id } = await transactions.begin(ANNA)
  await within(id, (draft) => {
    draft.section('realServers').merge('a', { weight: 7 })
    draft.section('realServers').create(realServer('b'))
  })
  test.match(await apply(id), { revision: 2 })
  test.match(running('a')?.value, { weight: 7 })
  test.ok((running('a')?.revision ?? 0) > before, 'an earlier reader must notice')
  test.match(running('b')?.value, { id: 'b' })
  test.match(store.changes(), [{ key: 'other' }])
  test.same(transactions.list(), [])
  test.match(store.revisions(1)[0]?.changes, [
    { key: 'a', origin: { actor: ANNA.email, changeId: String } },
    { key: 'b', origin: { actor: ANNA.email } },
  ])
})

t.test('a refusal leaves the transaction, the candidate and running as they were', async (test) => {
  const problems = { list: ['it cannot be'] }
  const { store, transactions, within, apply, applying } = fixture(test, problems)
  const { id } = await transactions.begin(ANNA)
  await within(id, (draft) => draft.section('realServers').create(realServer('a')))
  await refuses(test, 'CONFIG_INVALID', apply(id))
  await refuses(
    test,
    'PERMISSION_DENIED',
    apply(id, () => false),
  )
  await refuses(test, 'PERMISSION_DENIED', () => applying.apply({ force: undefined, transactionId: id }, askedBy(BERT)))
  await refuses(test, 'NOT_FOUND', () => apply('unknown'))
  test.match(transactions.list(), [{ id, count: 1 }])
  test.same([store.changes(), store.revision], [[], 0])
  problems.list = []
  test.match(await apply(id), { revision: 1 })
})

t.test('DEPENDS_ON_PENDING: for one of its records, or for one that it refers to', async (test) => {
  const { edit, transactions, within, apply, store } = fixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  const [pending] = store.changes()
  for (const work of [
    (draft: Parameters<Parameters<typeof edit>[0]>[0]) => draft.section('realServers').merge('a', { weight: 3 }),
    (draft: Parameters<Parameters<typeof edit>[0]>[0]) => draft.section('l7Backends').create(backend('be', ['a'])),
  ]) {
    const { id } = await transactions.begin(ANNA)
    await within(id, work)
    const error = await refuses(test, 'DEPENDS_ON_PENDING', apply(id))
    test.match(error.details.errors, [{ field: pending?.id, code: 'DEPENDS_ON_PENDING', message: /real server a/ }])
    await transactions.end(id)
  }
})

t.test('during the apply no edits are made in it; an edit begun before goes live as well', async (test) => {
  const { transactions, within, apply, running } = fixture(test)
  const { id } = await transactions.begin(ANNA)
  await within(id, (draft) => draft.section('realServers').create(realServer('a')))
  const late = within(id, (draft) => draft.section('realServers').create(realServer('b')))
  const under = apply(id)
  await refuses(test, 'APPLY_IN_PROGRESS', () => transactions.join(id, ANNA))
  await refuses(test, 'APPLY_IN_PROGRESS', () => transactions.end(id))
  const [edited] = await Promise.allSettled([late, under])
  test.equal(running('b') !== undefined, edited.status === 'fulfilled', 'kept if it was answered')
  test.ok(running('a'))
})

t.test('concurrent changes keep their own fields, and adopt the rest', async (test) => {
  const { edit, promote, transactions, within, apply, running, store } = fixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a', { weight: 1 })))
  await promote()
  const { id } = await transactions.begin(ANNA)
  await within(id, (draft) => draft.section('realServers').merge('a', { weight: 7 }))
  let edits: Promise<unknown> = Promise.resolve()
  const may = () => {
    // Asked in the turn without edits: this edit comes immediately afterwards.
    edits = edit((draft) => draft.section('realServers').merge('a', { name: 'renamed' }))
    return true
  }
  await apply(id, may)
  await edits
  test.match(running('a')?.value, { weight: 7, name: 'a' })
  test.match(store.candidate.get('realServers', '', 'a')?.value, { weight: 7, name: 'renamed' })
})

t.test('an unconfirmed one is pending afterwards', async (test) => {
  const { transactions, within, apply, running, applying, store } = fixture(test)
  const { id } = await transactions.begin(ANNA)
  await within(id, (draft) => draft.section('realServers').create(realServer('a')))
  test.match(await apply(id, undefined, 60), { confirmBy: String })
  test.equal(applying.state.state, 'waiting')
  await applying.revert(askedBy(BERT))
  test.equal(running('a'), undefined)
  test.match(store.changes(), [{ key: 'a', actor: ANNA.email }])
})

t.test('every node reports its result of the last apply', async (test) => {
  const { edit, promote, clock, applying, others, asked } = fixture(test)
  test.same(await applying.nodes(), [{ nodeId: 'node-1', state: 'idle', revision: 0, outcome: 'applied' }])
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  await promote()
  others.set('node-2', { state: 'idle', revision: 0 }).set('node-3', undefined)
  test.same(await applying.nodes(), [
    { nodeId: 'node-1', state: 'idle', revision: 1, outcome: 'applied' },
    { nodeId: 'node-2', state: 'idle', revision: 0, outcome: 'missed' },
    { nodeId: 'node-3', state: 'unknown', revision: null, outcome: 'unknown' },
  ])
  test.equal(asked.times, 2, 'after a new revision they are asked at once')
  others.set('node-2', { state: 'idle', revision: 1 })
  clock.advance(249)
  await Promise.all(Array.from({ length: 100 }, () => applying.nodes()))
  test.equal(asked.times, 2, 'however many clients poll')
  clock.advance(1)
  test.match(await applying.nodes(), { 1: { revision: 1, outcome: 'applied' } })
})
