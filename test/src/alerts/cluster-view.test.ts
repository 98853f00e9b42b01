import t from 'tap'
import { type ClusterView, isSpeaker, troubleOf } from '../../../src/alerts/cluster-view.ts'

const NODES = [
  { id: 'b', name: 'lb-2', since: '2026-01-02' },
  { id: 'a', name: 'lb-1', since: '2026-01-01' },
  { id: 'c', name: 'lb-3', since: '2026-01-03' },
]
/** The cluster as seen by one node that reaches some others. */
const seenBy = (self: string, reached: readonly string[], more: Partial<ClusterView> = {}): ClusterView => ({
  self,
  hasQuorum: true,
  nodes: NODES,
  witness: undefined,
  isReachable: (id) => reached.includes(id),
  ...more,
})

t.test('one of the nodes that see each other sends; when it goes away, the next one does', (test) => {
  const all = ['a', 'b', 'c']
  test.same(
    all.filter((id) => isSpeaker(seenBy(id, all))),
    ['a'],
  )
  test.same(
    ['b', 'c'].filter((id) => isSpeaker(seenBy(id, ['b', 'c']))),
    ['b'],
  )
  test.equal(isSpeaker(seenBy('a', [], { hasQuorum: false })), false, 'and a single node without a majority does not')
  test.equal(isSpeaker(undefined), true, 'the only node does')
  test.end()
})

t.test('unreachable nodes are reported, and the loss of the majority', (test) => {
  test.same(troubleOf(seenBy('a', ['b', 'c'])), [])
  test.same(troubleOf(undefined), [])
  test.match(troubleOf(seenBy('a', ['b'])), [
    { object: { type: 'node', id: 'c', name: 'lb-3' }, text: 'node lb-3 is unreachable' },
  ])
  const witness = { id: 'w', name: 'third' }
  const alone = troubleOf(seenBy('a', [], { hasQuorum: false, witness }))
  test.same(
    alone.map(({ object }) => `${object.type} ${object.id}`),
    ['quorum a', 'node b', 'node c', 'witness w'],
  )
  test.end()
})
