import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { type Entry, staging } from '../../../storage/config/entry.ts'
import { LmdbConfigStore } from '../../../storage/config/lmdb-config-store.ts'
import { openStore } from '../../fixtures/config.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { amendIn, discardIn, freezeIn, promoteIn, stageIn, thawIn } from '../../fixtures/entries.ts'

const origin = { actor: 'tester', endpoint: 'test.write', at: '2026-01-02T03:04:05.000Z' }
const at = (key: string) => ({ section: 'things', scope: '', key })
const header = (revision: number) => ({
  at: origin.at,
  applyId: `apply-${revision}`,
  revision,
  by: 'tester',
  comment: '',
})
const write = (n: number | undefined) => [{ ...at('a'), value: n === undefined ? undefined : { n } }]
const valueOf = (store: LmdbConfigStore, side: 'running' | 'candidate') => store[side].get('things', '', 'a')?.value

/** Running has 1, and 2 is frozen. */
async function frozenStore(test: Test) {
  const store = openStore(test)
  await stageIn(store, write(1), origin)
  await promoteIn(store, store.changes(), header(1))
  await stageIn(store, write(2), origin)
  return { store, frozen: await freezeIn(store, () => true, 'apply-2') }
}

t.test('an edit that is being written when a promotion begins stays pending', async (test) => {
  const { store, frozen } = await frozenStore(test)
  await Promise.all([stageIn(store, write(3), origin), promoteIn(store, frozen, header(2))])
  test.same(valueOf(store, 'running'), { n: 2 })
  test.same(valueOf(store, 'candidate'), { n: 3 })
  test.match(store.changes(), [{ before: { value: { n: 2 } }, after: { value: { n: 3 } } }])
})

t.test('an edit made while a promotion is written is compared with its result', async (test) => {
  const { store, frozen } = await frozenStore(test)
  await Promise.all([promoteIn(store, frozen, header(2)), stageIn(store, write(1), origin)])
  test.same(valueOf(store, 'running'), { n: 2 })
  test.same(valueOf(store, 'candidate'), { n: 1 }, 'the former running value is a change now')
  test.equal(store.changes().length, 1)
})

t.test('a reversal that is being written when the apply begins is not part of it', async (test) => {
  const store = openStore(test)
  await stageIn(store, write(1), origin)
  await promoteIn(store, store.changes(), header(1))
  await stageIn(store, write(2), origin)
  const [, frozen] = await Promise.all([stageIn(store, write(1), origin), freezeIn(store, () => true)])
  test.same(frozen, [])
  test.same(valueOf(store, 'candidate'), { n: 1 })
})

t.test('a discard that is being written when the apply begins is not part of it', async (test) => {
  const store = openStore(test)
  await stageIn(store, write(1), origin)
  const [change] = store.changes()
  const [, frozen] = await Promise.all([discardIn(store, [change?.id ?? '']), freezeIn(store, () => true)])
  test.same(frozen, [])
})

t.test('a read and write in one turn comes between the others', async (test) => {
  const store = openStore(test)
  await stageIn(store, write(0), origin)
  const add = () =>
    store.edit(() => {
      const { n } = valueOf(store, 'candidate') as { n: number }
      return { result: undefined, entry: staging(origin, write(n + 1), [], randomUUID) }
    })
  const applies = async () => {
    for (let revision = 1; revision <= 10; revision++) {
      const { applyId } = header(revision)
      await freezeIn(store, () => true, applyId)
      await store.write({ op: 'promote', header: header(revision) })
    }
  }
  await Promise.all([applies(), ...Array.from({ length: 40 }, add)])
  test.same(valueOf(store, 'candidate'), { n: 40 }, 'each addition counts once')
  await promoteIn(store, store.changes(), header(11))
  test.same(valueOf(store, 'running'), { n: 40 })
})

t.test('a turn that fails lets the next one have its turn', async (test) => {
  const store = openStore(test)
  const failed = store.edit(() => Promise.reject(new Error('refused')))
  const next = stageIn(store, write(1), origin)
  await test.rejects(failed, /refused/)
  await next
  test.same(valueOf(store, 'candidate'), { n: 1 })
})

t.test('nothing is amended while an apply is running', async (test) => {
  const { store } = await frozenStore(test)
  await test.rejects(amendIn(store, at('a'), { n: 4 }), /while an apply is running/)
  await thawIn(store, 'apply-2')
  await amendIn(store, at('a'), { m: 4 })
  test.same(valueOf(store, 'running'), { n: 1, m: 4 })
})

t.test('the promoted change is the one frozen under that id, whatever was staged since', async (test) => {
  const { store } = await frozenStore(test)
  await stageIn(store, [{ ...at('b'), value: { n: 1 } }], origin)
  test.ok(store.changes().some(({ id }) => store.isFrozen(id)))
  await test.rejects(store.write({ op: 'promote', header: header(3) }), /nothing is frozen for the apply apply-3/)
  await store.write({ op: 'promote', header: header(2) })
  test.equal(store.frozen('apply-2'), undefined)
  test.same(valueOf(store, 'running'), { n: 2 })
  test.match(store.changes(), [{ key: 'b' }])
})

t.test('reverts and writes of an edit are one entry', async (test) => {
  const store = openStore(test)
  await stageIn(store, [...write(1), { ...at('b'), value: {} }], { ...origin, actor: 'somebody' })
  const taken = store.changes().map(({ id }) => id)
  const entry = staging(origin, write(2), taken, randomUUID)
  await store.edit(() => ({ result: undefined, entry }))
  const [change, ...rest] = store.changes()
  test.same(rest, [])
  test.match(change, { key: 'a', actor: 'tester', after: { value: { n: 2 } } })
  test.equal(change?.others, undefined, 'nothing of the reverted change is left in it')
  test.notOk(taken.includes(change?.id ?? ''))
})

t.test('only the waiting apply is confirmed', async (test) => {
  const store = openStore(test)
  const deadline = { bootId: 'b', uptime_ms: 1 }
  const unconfirmed = { applyId: 'apply-1', revision: 1, by: 'tester', confirmBy: origin.at, deadline }
  await promoteIn(store, [], header(1), { unconfirmed })
  await store.write({ op: 'confirm', applyId: 'apply-0' })
  test.same(store.unconfirmed(), unconfirmed)
  await store.write({ op: 'confirm', applyId: 'apply-1' })
  test.equal(store.unconfirmed(), undefined)
})

t.test('frozen changes in a cluster survive the daemon, until another node ends the apply', async (test) => {
  const folder = temporaryFolder(test, 'config')
  const first = new LmdbConfigStore(folder)
  await stageIn(first, write(1), origin)
  const changes = first.changes().map(({ id }) => id)
  await first.folding.fold({ op: 'freeze', applyId: 'apply-1', changes }, 1)
  await test.rejects(first.folding.fold({ op: 'thaw', applyId: 'apply-1' }, 3), /does not follow/)
  await first.close()
  const again = new LmdbConfigStore(folder)
  test.teardown(() => again.close())
  test.equal(again.folding.position, 1)
  test.match(again.frozen('apply-1'), [{ key: 'a', after: { value: { n: 1 } } }])
  await stageIn(again, write(2), origin)
  await again.folding.fold({ op: 'promote', header: header(1) }, 2)
  test.same([valueOf(again, 'running'), valueOf(again, 'candidate')], [{ n: 1 }, { n: 2 }])
  test.equal(again.frozen('apply-1'), undefined)
})

t.test('a change back to running on top of a frozen one stays on a node that was restarted', async (test) => {
  const folder = temporaryFolder(test, 'config')
  const first = new LmdbConfigStore(folder)
  await stageIn(first, write(1), origin)
  await promoteIn(first, first.changes(), header(1))
  await stageIn(first, write(2), origin)
  const changes = first.changes().map(({ id }) => id)
  await first.folding.fold({ op: 'freeze', applyId: 'apply-2', changes }, 1)
  await stageIn(first, write(1), origin)
  const before = first.folding.records()
  await first.close()
  const again = new LmdbConfigStore(folder)
  test.teardown(() => again.close())
  test.same(again.folding.records(), before)
  await again.folding.fold({ op: 'promote', header: header(2) }, 2)
  test.same([valueOf(again, 'running'), valueOf(again, 'candidate')], [{ n: 2 }, { n: 1 }])
})

t.test('checking whether an entry could be carried out changes nothing', async (test) => {
  const { store } = await frozenStore(test)
  const before = store.folding.records()
  const thaw: Entry = { op: 'thaw', applyId: 'apply-2' }
  for (const entry of [thaw, { op: 'promote', header: header(2) } as const]) store.folding.check(entry)
  test.same(store.folding.records(), before)
  test.ok(store.frozen('apply-2'), 'the apply continues')
  test.throws(() => store.folding.check({ op: 'promote', header: header(3) }), /nothing is frozen/)
})

t.test('a node that leaves keeps its configuration, and nothing of the cluster', async (t) => {
  const store = openStore(t)
  const { folding } = store
  await folding.fold({ op: 'put', table: 'members', puts: [{ key: 'a', value: 1 }], removed: [] }, 1)
  await folding.fold({ op: 'put', table: 'sessions', puts: [{ key: 's', value: 2 }], removed: [] }, 2)
  const told: unknown[] = []
  store.members.follow(({ removed }) => told.push(removed))
  let before = 0
  await store.standAlone(async () => {
    before = folding.position
  })
  t.equal(before, 2)
  t.equal(folding.position, 0)
  t.same([store.members.entries(), told], [[], [['a']]])
  t.same(
    store.sessions.entries().map(({ key }) => key),
    ['s'],
  )
  await store.sessions.put('alone', 3)
  t.equal(store.sessions.entries().length, 2)
})
