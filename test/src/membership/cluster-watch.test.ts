import t from 'tap'
import { type ClusterSight, ClusterWatch } from '../../../src/membership/cluster-watch.ts'
import type { Member, Voter } from '../../../src/membership/members.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

function watched() {
  const clock = manualClock()
  const told: object[] = []
  const away = new Set<string>()
  const ids = ['a', 'b']
  const witnesses: string[] = []
  const since = new Map<string, string>()
  const sight = {
    own: { nodeId: 'a' },
    hasQuorum: true,
    succession: { histories: { parted: undefined } },
    removal: undefined as ClusterSight['removal'],
    log: { halted: undefined as string | undefined },
    peers: {
      livenessOf: (id: string) => (away.has(id) ? { isReachable: false, why: 'it hangs' } : { isReachable: true }),
    },
  }
  const state = { isMember: true }
  const watch = new ClusterWatch({
    cluster: () =>
      state.isMember ? (Object.assign(sight, { witness: sight.peers }) as unknown as ClusterSight) : undefined,
    members: {
      takeovers: () => [],
      get witness() {
        return witnesses.map((id) => ({ id, name: `witness ${id}` }) as unknown as Voter)[0]
      },
      all: () => ids.map((id) => ({ id, name: `node ${id}`, since: since.get(id) ?? '' }) as unknown as Member),
    },
    tell: (data) => told.push(data),
    clock,
  })
  /** A look each second. */
  const pass = (seconds: number) => {
    for (let i = 0; i < seconds; i += 1) {
      clock.advance(1_000)
      watch.look()
    }
    return told.splice(0)
  }
  return { pass, ids, witnesses, since, away, sight, state }
}

t.test('nodes that come and go; the initial ones are known', async (t) => {
  const { pass, ids } = watched()
  t.same(pass(1), [])
  ids.push('c')
  t.same(pass(2), [{ state: 'node joined', nodeId: 'c', name: 'node c' }])
  ids.splice(1, 1)
  t.same(pass(2), [{ state: 'node removed', nodeId: 'b', name: 'node b' }])
})

t.test('a node that replaces another between two looks', async (t) => {
  const { pass, since } = watched()
  pass(1)
  since.set('b', '2026-01-02')
  t.same(pass(1), [
    { state: 'node removed', nodeId: 'b', name: 'node b' },
    { state: 'node joined', nodeId: 'b', name: 'node b' },
  ])
})

t.test('a node that is unreachable for five seconds, and is back', async (t) => {
  const { pass, away } = watched()
  away.add('b')
  t.same(pass(5), [])
  away.delete('b')
  t.same(pass(1), [], 'it was away for a moment')
  away.add('b')
  t.same(pass(20), [{ state: 'node unreachable', nodeId: 'b', name: 'node b', reason: 'it hangs' }])
  away.delete('b')
  t.same(pass(20), [{ state: 'node reached', nodeId: 'b', name: 'node b' }])
})

t.test('a node that has just joined has a minute to start', async (t) => {
  const { pass, ids, away } = watched()
  pass(1)
  ids.push('c')
  away.add('c')
  t.same(pass(30), [{ state: 'node joined', nodeId: 'c', name: 'node c' }])
  away.delete('c')
  t.same(pass(1), [])
  away.add('c')
  t.match(pass(10), [{ state: 'node unreachable', nodeId: 'c' }], 'afterwards it is like any other')
  ids.push('d')
  away.add('d')
  t.match(pass(70), [
    { state: 'node joined', nodeId: 'd' },
    { state: 'node unreachable', nodeId: 'd' },
  ])
})

t.test('the quorum', async (t) => {
  const { pass, sight } = watched()
  sight.hasQuorum = false
  t.same(pass(5), [])
  t.same(pass(5), [{ state: 'quorum lost' }])
  sight.hasQuorum = true
  t.same(pass(5), [{ state: 'quorum back' }])
})

t.test('a node that halts reports that once, and nothing about the cluster afterwards', async (t) => {
  const { pass, sight, away } = watched()
  pass(1)
  sight.log.halted = 'its store differs'
  away.add('b')
  t.same(pass(20), [{ state: 'halted', reason: 'its store differs' }])
  sight.removal = { removedAt: 'today', isLeaving: false, isOut: true }
  sight.log.halted = 'it was removed'
  t.same(pass(2), [{ state: 'removed', reason: 'it was removed' }])
})

t.test('a node without a cluster sees nothing', async (t) => {
  const { pass, state, ids } = watched()
  state.isMember = false
  ids.push('c')
  t.same(pass(10), [])
})

t.test('a witness is reported as it comes and goes, and is missed after a minute', async (t) => {
  const { pass, witnesses, away } = watched()
  pass(1)
  witnesses.push('w')
  const named = { nodeId: 'w', name: 'witness w' }
  t.same(pass(1), [{ state: 'witness joined', ...named }])
  away.add('w')
  t.same(pass(59), [])
  t.same(pass(3), [{ state: 'witness unreachable', ...named, reason: 'There is no spare vote: it hangs' }])
  away.delete('w')
  t.same(pass(2), [{ state: 'witness reached', ...named }])
  witnesses.pop()
  t.same(pass(2), [{ state: 'witness removed', ...named }])
})
