import t, { type Test } from 'tap'
import type { RowChanges, SharedTable } from '../../../storage/config/config-store.ts'
import { MemoryCluster, type MemoryNode, when } from '../../fixtures/cluster-in-memory.ts'

/** Tables beside the configuration, on nodes that share a log. */

async function two(t: Test) {
  const cluster = await MemoryCluster.form(t)
  const [first, second] = [await cluster.node('node-1'), await cluster.node('node-2')]
  return { cluster, first, second }
}

const valueOf = (table: SharedTable, key: string) => table.entries().find((row) => row.key === key)?.value
const meet = (...nodes: readonly MemoryNode[]) => when(() => new Set(nodes.map(({ log }) => log.position)).size === 1)

t.test('a write on one node is on all, and reported to followers of the table', async (t) => {
  const { first, second } = await two(t)
  const told: RowChanges[] = []
  second.store.sessions.follow((changes) => told.push(changes))
  await first.store.sessions.put('a', { userId: 'kim' })
  t.same(valueOf(first.store.sessions, 'a'), { userId: 'kim' }, 'when it is answered')
  await meet(first, second)
  await first.store.sessions.remove(['a'])
  await first.store.apiTokens.put('a', 1)
  await meet(first, second)
  t.same(told, [
    { puts: [{ key: 'a', value: { userId: 'kim' } }], removed: [] },
    { puts: [], removed: ['a'] },
  ])
  t.same([valueOf(second.store.sessions, 'a'), valueOf(second.store.apiTokens, 'a')], [undefined, 1])
})

t.test('a decision based on the table is based on its whole content', async (t) => {
  const { first, second } = await two(t)
  /** Takes the key if it is free. */
  const take = ({ store: { signIns } }: MemoryNode, by: string) =>
    signIns.update(() =>
      valueOf(signIns, 'code') === undefined ? { puts: [{ key: 'code', value: by }], removed: [] } : undefined,
    )
  const taken = await Promise.all([take(first, 'a'), take(second, 'b'), take(first, 'c'), take(second, 'd')])
  t.equal(taken.filter((isTaken) => isTaken).length, 1)
  await meet(first, second)
  t.equal(valueOf(first.store.signIns, 'code'), valueOf(second.store.signIns, 'code'))
})

t.test('it neither waits for an edit nor blocks one', async (t) => {
  const { first, second } = await two(t)
  await first.store.edit(async () => {
    // The edit in progress is decided again after this.
    if (valueOf(first.store.sessions, 'a') === undefined) await first.store.sessions.put('a', 1)
    return { result: undefined, entry: { op: 'freeze', applyId: 'x', changes: [] } }
  })
  await meet(first, second)
  t.same([second.store.frozen('x'), valueOf(second.store.sessions, 'a')], [[], 1])
})

t.test('a node that begins with a checkpoint has them, and reports them', async (t) => {
  const { first, second } = await two(t)
  await first.store.members.put('gone', 1)
  await meet(first, second)
  const state = { ...first.store.folding.snapshot(), shared: [{ table: 'members', key: 'new', value: 2 }] as const }
  const told: RowChanges[] = []
  second.store.members.follow((changes) => told.push(changes))
  await second.store.folding.replace(state, 7)
  t.same(second.store.members.entries(), [{ key: 'new', value: 2 }])
  t.same(told, [{ puts: [{ key: 'new', value: 2 }], removed: ['gone'] }])
})
