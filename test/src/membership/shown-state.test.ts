import t from 'tap'
import { shownState } from '../../../src/membership/shown-state.ts'

const NODE = { id: 'a', name: 'left', host: '192.0.2.1', port: 9444, version: '1.0.0', since: '1' }

t.test('the state of a pair as shown to users', async (t) => {
  const parted = { nodeId: 'b', since: 3, edits: { here: 1, there: 2 } }
  const shown = (isTakingOver: boolean) =>
    shownState({
      own: { clusterId: 'c', name: 'site', nodeId: 'a' } as never,
      store: { aheadOn: () => [] },
      members: { all: () => [NODE], epoch: 2, pair: { preferredNode: 'a', takeoverAfter_s: 30 } } as never,
      log: { position: 5, halted: undefined },
      histories: { parted },
      listed: [{ id: '1', name: 'a', peerUrls: [], clientUrls: [], isLearner: false }],
      leader: '1',
      removedAt: undefined,
      isTakingOver,
      stateOf: () => 'online',
    })
  const state = shown(false)
  t.equal(shown(true).quorum, false, 'nothing can be changed meanwhile')
  t.match(state, { epoch: 2, quorum: true, preferredNode: 'a', takeoverAfter: 30, histories: parted })
  t.match(state.nodes, [{ id: 'a', isSelf: true, isVoter: true, isLeader: true, address: '192.0.2.1:9444' }])
})

t.test('a witness is listed beside the nodes, with the number of votes that can be spared', async (t) => {
  const voter = (id: string) => ({ id: `of ${id}`, name: id, peerUrls: [], clientUrls: [], isLearner: false })
  const away = new Set<string>()
  const shown = (...listed: readonly string[]) =>
    shownState({
      own: { clusterId: 'c', name: 'site', nodeId: 'a' } as never,
      store: { aheadOn: () => [] },
      members: { all: () => [NODE], witness: { ...NODE, id: 'w', name: 'third site' }, epoch: 1 } as never,
      log: { position: 5, halted: undefined },
      histories: { parted: undefined },
      listed: listed.map(voter),
      leader: 'of w',
      removedAt: undefined,
      isTakingOver: false,
      stateOf: (id) => (away.has(id) ? 'unreachable' : 'online'),
    })
  const state = shown('a', 'b', 'w')
  t.match(state.witness, { id: 'w', name: 'third site', isVoter: true, isLeader: true, state: 'online' })
  t.notOk('ahead' in (state.witness ?? {}))
  t.same([state.nodes.length, state.spareVotes], [1, 1])
  away.add('w')
  t.match(shown('a', 'b', 'w'), { spareVotes: 0, witness: { state: 'unreachable' } })
  t.equal(shown('a', 'b').spareVotes, 0)
  t.equal(shown().spareVotes, 0)
})

t.test('a node that has read of its own removal is still listed', async (t) => {
  const other = { ...NODE, id: 'b', name: 'right' }
  const shown = (removedAt: string | undefined, ...all: readonly object[]) =>
    shownState({
      own: { clusterId: 'c', name: 'site', nodeId: 'a' } as never,
      store: { aheadOn: () => [] },
      members: { all: () => all, removed: () => [{ member: NODE, stage: 'done' }], epoch: 1 } as never,
      log: { position: 5, halted: undefined },
      histories: { parted: undefined },
      listed: undefined,
      leader: undefined,
      removedAt,
      isTakingOver: false,
      stateOf: () => 'unreachable',
    }).nodes.map(({ id, isSelf }) => [id, isSelf])
  t.same(shown('2026-11-29T20:00:00.000Z', other), [
    ['b', false],
    ['a', true],
  ])
  t.same(shown('2026-11-29T20:00:00.000Z', NODE, other).length, 2)
  t.same(shown(undefined, other), [['b', false]])
})
