import t from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import { AutomaticTakeover } from '../../../src/membership/automatic-takeover.ts'
import type { Member } from '../../../src/membership/members.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

/** The node `a`, preferred, whose partner is gone. */
function preferred() {
  const clock = manualClock()
  const taken: object[] = []
  const sight = {
    ids: ['a', 'b'],
    others: [] as string[],
    pair: { preferredNode: 'a', takeoverAfter_s: 5 } as { preferredNode: string; takeoverAfter_s: number } | undefined,
    isReachable: false,
    hasEtcd: false,
    cutOff: undefined as string | undefined,
  }
  const member = (id: string) => ({ id, name: `node ${id}`, host: '127.0.0.1', port: 1 }) as unknown as Member
  const automatic = new AutomaticTakeover({
    self: 'a',
    members: {
      all: () => sight.ids.map(member),
      mayVote: () => new Set([...sight.ids, ...sight.others]),
      get pair() {
        return sight.pair
      },
    },
    takeovers: { takeOver: async (asked) => void taken.push(asked) },
    etcd: {
      maintenance: {
        status: async () => {
          if (sight.hasEtcd) return {} as never
          throw new Error('nobody')
        },
      },
    },
    peers: { livenessOf: () => ({ isReachable: sight.isReachable, heard_ms: undefined, why: 'it is off' }) },
    apiPortOf: () => 1,
    cutOff: async () => sight.cutOff,
    clock,
    log: silentLog,
  })
  /** A look each second; returns the takeovers. */
  const pass = async (seconds: number, hasQuorum = false) => {
    for (let i = 0; i < seconds; i += 1) {
      await automatic.look(hasQuorum)
      clock.advance(1_000)
    }
    return taken.splice(0)
  }
  return { sight, pass }
}

t.test('the preferred node takes over when its partner was gone for this time', async (t) => {
  const { pass } = preferred()
  t.same(await pass(5), [])
  t.match(await pass(1), [{ by: 'fulcrum', reason: /node b was unreachable for 5 s/ }])
})

t.test('the other node never does, and none where none is preferred', async (t) => {
  const { sight, pass } = preferred()
  sight.pair = { preferredNode: 'b', takeoverAfter_s: 5 }
  t.same(await pass(20), [])
  sight.pair = undefined
  t.same(await pass(20), [])
})

t.test('with more nodes it is outvoted instead', async (t) => {
  const { sight, pass } = preferred()
  sight.ids.push('c')
  t.same(await pass(20), [])
})

t.test('where a witness votes, or may still vote, that outvotes it instead', async (t) => {
  const { sight, pass } = preferred()
  sight.others.push('w')
  t.same(await pass(20), [])
  sight.others.pop()
  t.equal((await pass(6)).length, 1, 'without it the preference counts again')
})

for (const path of ['isReachable', 'hasEtcd'] as const) {
  t.test(`a partner that answers (${path}) is not gone, and the time restarts`, async (t) => {
    const { sight, pass } = preferred()
    await pass(4)
    sight[path] = true
    t.same(await pass(20), [])
    sight[path] = false
    t.same(await pass(5), [])
    t.equal((await pass(1)).length, 1)
  })
}

t.test('a node that is cut off itself waits until it is not', async (t) => {
  const { sight, pass } = preferred()
  sight.cutOff = 'eth0 has no carrier'
  t.same(await pass(20), [])
  sight.cutOff = undefined
  t.equal((await pass(1)).length, 1)
})

t.test('with a quorum nothing is taken over', async (t) => {
  const { pass } = preferred()
  t.same(await pass(20, true), [])
})
