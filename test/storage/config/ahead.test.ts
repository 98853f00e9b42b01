import t, { type Test } from 'tap'
import { MemoryCluster, type MemoryNode, staged, when } from '../../fixtures/cluster-in-memory.ts'

/** Changes that one node runs alone, on two nodes that share a log. */

const THINGS = ['things', ''] as const
const runs = ({ store }: MemoryNode) => store.running.list(...THINGS).map(({ value }) => value)
const agreed = ({ store }: MemoryNode) => store.agreed.list(...THINGS).map(({ value }) => value)
const pending = ({ store }: MemoryNode) =>
  store.changes().map(({ key, before, after }) => [key, before?.value, after?.value])

async function two(test: Test) {
  const cluster = await MemoryCluster.form(test)
  const [first, second] = [await cluster.node('node-1'), await cluster.node('node-2')]
  const meet = () => when(() => first.log.position === second.log.position)
  return { cluster, first, second, meet }
}

async function promote({ store }: MemoryNode, applyId: string, onlyOn?: string): Promise<void> {
  const header = { applyId, revision: store.revision + 1, by: 'kim', at: '2026-01-02T03:04:05.000Z', comment: '' }
  await store.write({ op: 'freeze', applyId, changes: store.changes().map(({ id }) => id) })
  await store.write({ op: 'promote', header, onlyOn })
}

t.test('a change on one node alone stays pending, and is no revision', async (test) => {
  const { first, second, meet } = await two(test)
  await second.store.write(staged('a', 1))
  await meet()
  const before = second.store.runningVersion
  await promote(second, 'apply-1', 'node-2')
  await meet()
  test.ok(second.store.runningVersion > before)
  test.same([runs(first), runs(second)], [[], [1]])
  test.same([agreed(first), agreed(second)], [[], []])
  for (const { store } of [first, second]) {
    test.equal(store.revision, 0)
    test.equal(store.frozen('apply-1'), undefined)
    test.ok(store.isAheadBy('apply-1'))
    test.notOk(store.isAheadBy('apply-2'))
    test.match(store.aheadOn('node-2'), [{ section: 'things', key: 'a' }])
    test.same(store.aheadOn('node-1'), [])
    test.equal(store.runningOn('node-2').get(...THINGS, 'a')?.value, 1)
    test.equal(store.runningOn('node-1').get(...THINGS, 'a'), undefined)
  }
  for (const node of [first, second]) test.same(pending(node), [['a', undefined, 1]])
  await second.store.write(staged('b', 1))
  await meet()
  for (const { store } of [first, second]) test.same([store.changes().length, store.changeCount], [2, 2])
})

t.test('an apply on all unites them again', async (test) => {
  const { first, second, meet } = await two(test)
  await first.store.write(staged('a', 1))
  await promote(first, 'apply-1', 'node-1')
  await promote(first, 'apply-2')
  await meet()
  test.same([runs(first), runs(second), pending(first)], [[1], [1], []])
  test.same(first.store.aheadOn('node-1'), [])
  test.match(first.store.revisions(5), [{ revision: 1, changes: [{ key: 'a', before: null, after: 1 }] }])
})

t.test('a change that is no longer staged is reverted where a node is ahead by it', async (test) => {
  const { first, second, meet } = await two(test)
  await first.store.write(staged('kept', 0))
  await promote(first, 'apply-1')
  await first.store.write(staged('kept', 1))
  await first.store.write(staged('new', 1))
  await promote(first, 'apply-2', 'node-1')
  await first.store.write({ ...staged('x', 1), writes: [], discards: first.store.changes().map(({ id }) => id) })
  await meet()
  const [back, gone] = [
    ['kept', 1, 0],
    ['new', 1, undefined],
  ]
  for (const node of [first, second]) test.same(pending(node), [back, gone])
  test.same(second.store.staged(), [])
  test.same([runs(first), runs(second)], [[1, 1], [0]])

  test.comment('on that node alone, or on all')
  await promote(first, 'apply-3', 'node-1')
  test.same([runs(first), pending(first), first.store.aheadOn('node-1')], [[0], [], []])
  await first.store.write(staged('kept', 1))
  await promote(first, 'apply-4', 'node-1')
  await first.store.write({ ...staged('x', 1), writes: [], discards: first.store.changes().map(({ id }) => id) })
  await promote(first, 'apply-5')
  await meet()
  test.same([runs(first), runs(second), pending(second)], [[0], [0], []])
  test.match(second.store.revisions(1), [{ applyId: 'apply-5', changes: [] }], 'where nodes agree nothing has changed')
})

t.test('an apply on all that leaves it out leaves the node ahead', async (test) => {
  const { first, second, meet } = await two(test)
  await first.store.write(staged('a', 1))
  await promote(first, 'apply-1', 'node-1')
  await first.store.write(staged('b', 2))
  const changes = first.store.changes().flatMap(({ id, key }) => (key === 'b' ? [id] : []))
  const header = { applyId: 'apply-2', revision: 1, by: 'kim', at: '2026-01-02T03:04:05.000Z', comment: '' }
  await first.store.write({ op: 'freeze', applyId: 'apply-2', changes })
  await first.store.write({ op: 'promote', header })
  await meet()
  test.same([runs(first), runs(second)], [[1, 2], [2]])
  test.match(pending(second), [['a', undefined, 1]])
})

t.test('a node that begins with a checkpoint, and one that restarts, has it as well', async (test) => {
  const { cluster, first } = await two(test)
  await first.store.write(staged('a', 1))
  await promote(first, 'apply-1', 'node-3')
  const third = await cluster.node('node-3')
  await third.folding.replace(first.folding.snapshot(), first.folding.position)
  test.same([runs(third), agreed(third)], [[1], []])
  await third.log.close()
  await third.again()
  test.same(runs(third), [1])
})
