import t, { type Test } from 'tap'
import type { LmdbConfigStore } from '../../../storage/config/lmdb-config-store.ts'
import { openStore } from '../../config-fixture.ts'

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
  await store.stage(write(1), origin)
  await store.promote(store.changes(), header(1))
  await store.stage(write(2), origin)
  return { store, frozen: await store.freeze(() => true) }
}

t.test('an edit that is being written when a promotion begins stays pending', async (test) => {
  const { store, frozen } = await frozenStore(test)
  await Promise.all([store.stage(write(3), origin), store.promote(frozen, header(2))])
  test.same(valueOf(store, 'running'), { n: 2 })
  test.same(valueOf(store, 'candidate'), { n: 3 })
  test.match(store.changes(), [{ before: { value: { n: 2 } }, after: { value: { n: 3 } } }])
})

t.test('an edit that comes while a promotion is written is compared with what that makes running', async (test) => {
  const { store, frozen } = await frozenStore(test)
  await Promise.all([store.promote(frozen, header(2)), store.stage(write(1), origin)])
  test.same(valueOf(store, 'running'), { n: 2 })
  test.same(valueOf(store, 'candidate'), { n: 1 }, 'what ran before is a change now')
  test.equal(store.changes().length, 1)
})

t.test('a reversal that is being written when the apply begins is not part of it', async (test) => {
  const store = openStore(test)
  await store.stage(write(1), origin)
  await store.promote(store.changes(), header(1))
  await store.stage(write(2), origin)
  const [, frozen] = await Promise.all([store.stage(write(1), origin), store.freeze(() => true)])
  test.same(frozen, [])
  test.same(valueOf(store, 'candidate'), { n: 1 })
})

t.test('a discard that is being written when the apply begins is not part of it', async (test) => {
  const store = openStore(test)
  await store.stage(write(1), origin)
  const [change] = store.changes()
  const [, frozen] = await Promise.all([store.discard([change?.id ?? '']), store.freeze(() => true)])
  test.same(frozen, [])
})

t.test('who reads and writes in one turn is between the others', async (test) => {
  const store = openStore(test)
  await store.stage(write(0), origin)
  const add = () =>
    store.exclusively(async (writer) => {
      const { n } = valueOf(store, 'candidate') as { n: number }
      await writer.stage(write(n + 1), origin)
    })
  const applies = async () => {
    for (let revision = 1; revision <= 10; revision++) {
      const frozen = await store.freeze(() => true)
      await store.promote(frozen, header(revision))
      await store.thaw()
    }
  }
  await Promise.all([applies(), ...Array.from({ length: 40 }, add)])
  test.same(valueOf(store, 'candidate'), { n: 40 }, 'each addition counts once')
  await store.promote(store.changes(), header(11))
  test.same(valueOf(store, 'running'), { n: 40 })
})

t.test('a turn that fails lets the next one have its turn', async (test) => {
  const store = openStore(test)
  const failed = store.exclusively(() => Promise.reject(new Error('refused')))
  const next = store.stage(write(1), origin)
  await test.rejects(failed, /refused/)
  await next
  test.same(valueOf(store, 'candidate'), { n: 1 })
})

t.test('nothing is amended while an apply is under way', async (test) => {
  const { store } = await frozenStore(test)
  await test.rejects(store.amend(at('a'), { n: 4 }), /while an apply is under way/)
  await store.thaw()
  await store.amend(at('a'), { m: 4 })
  test.same(valueOf(store, 'running'), { n: 1, m: 4 })
})
