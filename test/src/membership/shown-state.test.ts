import t from 'tap'
import { shownState } from '../../../src/membership/shown-state.ts'

const NODE = { id: 'a', name: 'left', host: '192.0.2.1', port: 9444, version: '1.0.0', since: '1' }

t.test('what people are told of a pair', async (t) => {
  const parted = { nodeId: 'b', since: 3, edits: { here: 1, there: 2 } }
  const state = shownState({
    own: { clusterId: 'c', name: 'site', nodeId: 'a' } as never,
    store: { aheadOn: () => [] },
    members: { all: () => [NODE], epoch: 2, pair: { preferredNode: 'a', takeoverAfter_s: 30 } } as never,
    log: { position: 5, halted: undefined },
    histories: { parted },
    listed: [{ id: '1', name: 'a', peerUrls: [], clientUrls: [], isLearner: false }],
    leader: '1',
    removedAt: undefined,
    stateOf: () => 'online',
  })
  t.match(state, { epoch: 2, quorum: true, preferredNode: 'a', takeoverAfter: 30, histories: parted })
  t.match(state.nodes, [{ id: 'a', isSelf: true, isVoter: true, isLeader: true, address: '192.0.2.1:9444' }])
})
