import t, { type Test } from 'tap'
import { IDLE_MS_MAX, Transactions } from '../../../src/config/transactions.ts'
import type { Draft } from '../../../src/config/draft.ts'
import { Editing } from '../../../src/config/editing.ts'
import type { May } from '../../../src/config/needed-rights.ts'
import { silentLog } from '../../../src/base/log.ts'
import { ANYTHING, configFixture, realServer, refuses, user } from '../../fixtures/config.ts'
import { MemoryCluster, type MemoryNode, when } from '../../fixtures/cluster-in-memory.ts'
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
    editing.edit(ORIGIN, ifMatch, work, { join: () => transactions.join(id, ANNA) })
  const commit = (id: string, may: May = ANYTHING) =>
    editing.commit(
      ORIGIN,
      may,
      () => transactions.join(id, ANNA),
      () => transactions.forget(id),
    )
  const candidate = () => store.candidate.list('realServers', '').map(({ value }) => Reflect.get(Object(value), 'id'))
  return { ...config, clock, transactions, within, commit, candidate }
}

t.test('edits of a transaction are visible inside it only, and become pending together', async (test) => {
  const { transactions, within, commit, candidate, store } = fixture(test)
  const { id } = await transactions.begin(ANNA)
  await within(id, (draft) => draft.section('realServers').create(realServer('a')))
  await within(id, (draft) => {
    test.equal(draft.section('realServers').get('a').name, 'a', 'its next request sees it')
    draft.section('realServers').create(realServer('b'))
  })
  test.same(candidate(), [])
  test.match(transactions.list(), [{ id, owner: ANNA.email, count: 2 }])
  await commit(id)
  test.same(candidate(), ['a', 'b'])
  test.equal(store.changes().length, 2)
  test.same(transactions.list(), [])
})

t.test('a rollback drops them', async (test) => {
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

t.test('another user may not use it', async (test) => {
  const { transactions } = fixture(test)
  const { id } = await transactions.begin(ANNA)
  await refuses(test, 'PERMISSION_DENIED', () => transactions.join(id, BERT))
})

t.test('idle for fifteen minutes: rolled back; each use restarts the time', async (test) => {
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

t.test('If-Match inside a transaction refers to the edits in it', async (test) => {
  const { transactions, within, edit, store } = fixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  const { id } = await transactions.begin(ANNA)
  const tag = `"${store.candidate.get('realServers', '', 'a')?.revision}"`
  const weigh = (weight: number) => (draft: Parameters<Parameters<typeof within>[1]>[0]) =>
    draft.section('realServers').merge('a', { weight })
  await within(id, weigh(1), tag)
  await refuses(test, 'REVISION_MISMATCH', within(id, weigh(2), tag))
  let read: string | undefined
  await within(id, (draft) => {
    draft.section('realServers').get('a')
    read = draft.tagRead
  })
  await within(id, weigh(3), `"${read}"`)
})

t.test('If-Match inside a transaction covers data shown with the record as well', async (test) => {
  const { transactions, within, edit } = fixture(test)
  await edit((draft) => draft.section('groups').create({ id: 'g', name: 'ops', roles: [] }))
  const { id } = await transactions.begin(ANNA)
  const read = async () => {
    let tag: string | undefined
    await within(id, (draft) => {
      draft.section('groups').get('g')
      tag = draft.tagRead
    })
    return `"${tag}"`
  }
  const join = (userId: string) => (draft: Draft) => draft.section('users').create({ ...user(userId), groups: ['g'] })
  const rename = (name: string) => (draft: Draft) => draft.section('groups').merge('g', { name })
  const changes = [
    () => within(id, join('u1')),
    () => within(id, rename('net')),
    () => within(id, join('u2')),
    () => edit(join('u3')),
  ]
  const tags = [await read()]
  for (const change of changes) {
    await change()
    await refuses(test, 'REVISION_MISMATCH', within(id, rename('stale'), tags.at(-1)))
    tags.push(await read())
  }
  test.equal(new Set(tags).size, 5, 'each read has its own tag')
  await within(id, rename('web'), tags.at(-1))
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
  test.match(transactions.list(), [{ expiresAt }], 'its end is reported in the current time')
  set_ms = -24 * 3_600_000
  clock.advance(IDLE_MS_MAX + 1)
  test.notOk(transactions.list().length === 1, 'a day back')
})

t.test('over a restart of the machine it is idle since the start', async (test) => {
  const { transactions, store, clock } = fixture(test)
  await transactions.begin(ANNA)
  let uptime_ms = IDLE_MS_MAX
  const booted = { ...clock, bootId: 'boot-2', uptime_ms: () => uptime_ms }
  const again = new Transactions(store, booted, silentLog)
  test.ok(again.list().length === 1)
  uptime_ms += 1
  test.notOk(again.list().length === 1)
})

t.test('a transaction is committed, and rolled back by others, with the rights for its edits', async (test) => {
  const { transactions, within, commit, candidate } = fixture(test)
  const { id } = await transactions.begin(ANNA)
  await within(id, (draft) => draft.section('realServers').create(realServer('a')))
  const nothing = () => false
  const error = await refuses(test, 'PERMISSION_DENIED', commit(id, nothing))
  test.match(error.details.errors, [{ field: 'realServers.a' }])
  test.same(candidate(), [], 'a user who lost the right meanwhile commits nothing')
  await refuses(test, 'PERMISSION_DENIED', () => transactions.refuseForeign(id, BERT, nothing))
  transactions.refuseForeign(id, BERT, (name) => name === 'realServers.create')
  transactions.refuseForeign(id, ANNA, nothing)
  await commit(id)
  test.same(candidate(), ['a'])
})

/** Two nodes of a cluster; `there` decides which nodes they reach, and `members` which nodes exist. */
async function nodes(test: Test) {
  const cluster = await MemoryCluster.form(test)
  const state = { there: true, hasQuorum: true, members: ['a', 'b'] }
  const made = async (id: string) => {
    const node = await cluster.node(id)
    const clock = manualClock()
    const { store } = node
    const holders = {
      self: id,
      get hasQuorum() {
        return state.hasQuorum
      },
      nameOf: (nodeId: string) => (state.members.includes(nodeId) ? `node ${nodeId}` : undefined),
      isReachable: () => state.there,
    }
    const begin = () => new Transactions(store, clock, silentLog, holders)
    return { ...node, clock, transactions: begin(), begin, editing: new Editing(store) }
  }
  const [a, b] = [await made('a'), await made('b')]
  const level = () => when(() => a.log.position === b.log.position)
  return { a, b, state, level, within }
  function within({ editing, transactions }: typeof a, id: string, name: string) {
    const create = (draft: Parameters<Parameters<typeof editing.edit>[2]>[0]) =>
      draft.section('realServers').create(realServer(name))
    return editing.edit(ORIGIN, undefined, create, { join: () => transactions.join(id, ANNA) })
  }
}
const pending = ({ store }: Pick<MemoryNode, 'store'>) => store.changes().map(({ key }) => key)

t.test('nodes of a cluster share one, also for concurrent requests on two of them', async (test) => {
  const { a, b, level } = await nodes(test)
  const begun = await Promise.allSettled([a.transactions.begin(ANNA), b.transactions.begin(BERT)])
  test.same(begun.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  await level()
  const [[open], [seen]] = [a.transactions.list(), b.transactions.list()]
  test.match(seen, { id: open?.id, owner: open?.owner, nodeId: open?.nodeId })
  const refused = begun.find(({ status }) => status === 'rejected')
  const where = `node ${open?.nodeId}`
  test.match(refused, { reason: { code: 'TRANSACTION_OPEN', details: { data: { nodeId: open?.nodeId } } } })
  for (const node of [a, b]) {
    const error = await refuses(test, 'TRANSACTION_OPEN', () => node.transactions.refuseOpen())
    test.match(error.message, `is open on the node ${where};`)
  }
})

t.test('its edits stay on their node until the commit, which is one entry for all', async (test) => {
  const { a, b, level, within } = await nodes(test)
  const { id } = await a.transactions.begin(ANNA)
  const before = a.log.position
  await within(a, id, 'x')
  await within(a, id, 'y')
  test.equal(a.log.position, before, 'no entry of it')
  await level()
  test.same([b.transactions.elsewhere, a.transactions.elsewhere], [{ id, nodeId: 'a', isReachable: true }, undefined])
  test.same([a.transactions.list()[0]?.count, b.transactions.list()[0]?.count], [2, undefined])
  await refuses(test, 'TRANSACTION_OPEN', () => b.transactions.join(id, ANNA))
  b.transactions.refuseUnknown(id)
  await a.editing.commit(
    ORIGIN,
    ANYTHING,
    () => a.transactions.join(id, ANNA),
    (one) => a.transactions.forget(one),
  )
  test.equal(a.log.position, before + 1)
  await level()
  for (const node of [a, b]) {
    test.same(pending(node), ['x', 'y'])
    test.same(node.transactions.list(), [])
  }
  test.same(a.store.transactions.entries(), [], 'nothing of it is left')
})

t.test('killed before or after the entry of the commit: open or committed, on every node', async (test) => {
  const { a, b, level, within } = await nodes(test)
  const { id } = await a.transactions.begin(ANNA)
  await within(a, id, 'x')
  const killed = a.begin()
  test.match(killed.list(), [{ id, count: 1 }], 'a start before it')
  const join = () => a.transactions.join(id, ANNA)
  const dies = async () => Promise.reject(new Error('killed'))
  await test.rejects(a.editing.commit(ORIGIN, ANYTHING, join, dies), /killed/)
  const again = a.begin()
  test.same([again.list(), pending(a)], [[], ['x']], 'a start after it')
  test.equal(a.store.transactions.entries().length, 1)
  await again.look()
  test.same(a.store.transactions.entries(), [], 'its data are deleted with the next look')
  await level()
  test.same([b.transactions.list(), pending(b)], [[], ['x']])
})

t.test(
  'its node ends an idle one for all; without it another node does, after as long by its own clock',
  async (test) => {
    const { a, b, state, level } = await nodes(test)
    await a.transactions.begin(ANNA)
    await level()
    b.clock.advance(2 * IDLE_MS_MAX)
    await b.transactions.look()
    test.equal(b.transactions.list().length, 1, 'its node is there, and counts')
    a.clock.advance(IDLE_MS_MAX + 1)
    await a.transactions.look()
    await level()
    test.same([a.transactions.list(), b.transactions.list(), b.store.openTransactions.entries()], [[], [], []])

    const { id } = await a.transactions.begin(ANNA)
    await level()
    state.there = false
    b.clock.advance(IDLE_MS_MAX)
    await b.transactions.look()
    await refuses(test, 'TRANSACTION_OPEN', () => b.transactions.refuseOpen())
    await refuses(test, 'NODE_UNREACHABLE', () => b.transactions.join(id, ANNA))
    await refuses(test, 'NODE_UNREACHABLE', () => b.transactions.refuseForeign(id, BERT, ANYTHING))
    b.transactions.refuseForeign(id, ANNA, ANYTHING)
    b.clock.advance(1)
    state.hasQuorum = false
    await b.transactions.look()
    test.equal(b.store.openTransactions.entries().length, 1, 'a node that is cut off ends nothing')
    state.hasQuorum = true
    await b.transactions.look()
    await level()
    test.same(a.transactions.list(), [], 'also on its own node')
    await refuses(test, 'NOT_FOUND', () => a.transactions.join(id, ANNA))
    const last = await a.transactions.begin(ANNA)
    await level()
    await b.transactions.end(last.id)
    await level()
    test.same([a.transactions.list(), b.transactions.list()], [[], []], 'its owner need not wait')
  },
)

t.test('a removed node has none; without a quorum nothing is edited in one', async (test) => {
  const { a, b, state, level, within } = await nodes(test)
  const { id } = await a.transactions.begin(ANNA)
  await within(a, id, 'x')
  state.hasQuorum = false
  await refuses(test, 'NO_QUORUM', within(a, id, 'y'))
  state.hasQuorum = true
  test.equal(a.transactions.join(id, ANNA).writes.length, 1)
  await level()
  state.members = ['b']
  test.same(b.transactions.list(), [])
  const next = await b.transactions.begin(BERT)
  await level()
  test.match(a.store.openTransactions.entries(), [{ key: next.id }])
  test.equal(b.store.openTransactions.entries().length, 1)
  await b.store.standAlone(() => b.log.close())
  test.same(b.transactions.list(), [], 'a leaving node takes none along')
})

t.test('a joining node gets that of the cluster; its own stays behind, as its staged changes do', async (test) => {
  const { a } = await nodes(test)
  const { id } = await a.transactions.begin(ANNA)
  const { transactions, within, store } = fixture(test)
  const own = await transactions.begin(BERT)
  await store.transactions.put(own.id, { id: own.id, used: { bootId: '', uptime_ms: 0 }, writes: [] })
  await store.folding.replace(a.store.folding.snapshot(), a.log.position)
  const members = { self: 'c', hasQuorum: true, nameOf: () => 'a node', isReachable: () => true }
  const joined = new Transactions(store, manualClock(), silentLog, members)
  test.match(joined.list(), [{ id, nodeId: 'a' }])
  await refuses(test, 'NOT_FOUND', () => within(own.id, () => undefined))
  await joined.look()
  test.same(store.transactions.entries(), [])
})
