import t from 'tap'
import type { Entry } from '../../../storage/config/entry.ts'
import { LmdbConfigStore } from '../../../storage/config/lmdb-config-store.ts'
import { openStore } from '../../fixtures/config.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { freezeIn, promoteIn, stageIn } from '../../fixtures/entries.ts'

const origin = { actor: 'tester', endpoint: 'test.write', at: '2026-01-02T03:04:05.000Z' }
const at = (key: string) => ({ section: 'things', scope: '', key })
const header = (revision: number) => ({
  at: origin.at,
  applyId: `apply-${revision}`,
  revision,
  by: 'tester',
  comment: '',
})

t.test('a store that takes over the state of another continues like it', async (test) => {
  const store = openStore(test)
  await stageIn(store, [{ ...at('a'), value: { n: 1 } }], origin)
  await promoteIn(store, store.changes(), header(1))
  await stageIn(store, [{ ...at('a'), value: { n: 2 } }], origin)
  await freezeIn(store, () => true, 'apply-2')
  await stageIn(store, [{ ...at('b'), value: { b: 1 } }], origin)
  const folder = temporaryFolder(test, 'config')
  const other = new LmdbConfigStore(folder)
  await stageIn(other, [{ ...at('c'), value: {} }], origin)
  await promoteIn(other, other.changes(), header(1))
  await other.folding.replace(store.folding.snapshot(), 7)
  const seen = (of: LmdbConfigStore) => [of.folding.position, of.folding.snapshot(), of.changes(), of.revisions(9)]
  const [, ...state] = seen(store)
  test.same(seen(other), [7, ...state])
  await other.close()
  const again = new LmdbConfigStore(folder)
  test.teardown(() => again.close())
  test.same(seen(again), [7, ...state], 'also when it is reopened')
  const promote: Entry = { op: 'promote', header: header(2) }
  await store.write(promote)
  await again.folding.fold(promote, 8)
  test.same(again.folding.snapshot(), store.folding.snapshot())
})

t.test('a change back on top of a frozen one exists when the node is restarted', async (test) => {
  const folder = temporaryFolder(test, 'config')
  const store = new LmdbConfigStore(folder)
  const write = (n: number): Entry => ({
    op: 'stage',
    origin,
    writes: [{ ...at('a'), value: { n }, changeId: 'change' }],
    discards: [],
  })
  const entries: Entry[] = [
    write(1),
    { op: 'freeze', applyId: 'apply-1', changes: ['change'] },
    { op: 'promote', header: header(1) },
    write(2),
    { op: 'freeze', applyId: 'apply-2', changes: ['change'] },
    write(1),
  ]
  for (const [index, entry] of entries.entries()) await store.folding.fold(entry, index + 1)
  const before = store.folding.snapshot()
  await store.close()
  const again = new LmdbConfigStore(folder)
  test.teardown(() => again.close())
  test.same(again.folding.snapshot(), before)
  await again.folding.fold({ op: 'promote', header: header(2) }, entries.length + 1)
  test.match(again.changes(), [{ before: { value: { n: 2 } }, after: { value: { n: 1 } } }])
})

t.test('a change that waits for confirmation is taken over, and so is its absence', async (test) => {
  const [store, other] = [openStore(test), openStore(test)]
  const deadline = { bootId: 'boot', uptime_ms: 1 }
  const unconfirmed = { applyId: 'apply-1', revision: 1, by: 'tester', confirmBy: origin.at, deadline }
  await store.write({ op: 'promote', header: header(1), changes: [], unconfirmed })
  const nothing = other.folding.snapshot()
  await other.folding.replace(store.folding.snapshot(), 1)
  test.same(other.unconfirmed(), unconfirmed)
  await other.folding.replace(nothing, 2)
  test.equal(other.unconfirmed(), undefined)
})
