import t, { type Test } from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import { EtcdError } from '../../../src/etcd/errors.ts'
import { Members } from '../../../src/membership/members.ts'
import { Succession, type SuccessionParts } from '../../../src/membership/succession.ts'
import { staged } from '../../fixtures/cluster-in-memory.ts'
import { openStore, refuses } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const PLACE = { host: '127.0.0.1', port: 1 } as const
const HOW = { by: 'somebody', reason: 'gone', isForced: false } as const
const BOTH = ['a', 'b'].map((name) => ({ id: name, name, peerUrls: [], clientUrls: [], isLearner: false }))

/** The node `a` of a pair. */
async function inPair(test: Test, { nodes = ['a', 'b'], level = 2, halted = undefined as string | undefined } = {}) {
  const store = openStore(test)
  await store.write({ op: 'level', level })
  const members = new Members(store.members)
  for (const id of nodes) await members.add(() => ({ id, name: `node ${id}`, since: id, ...PLACE }) as never)
  const sight = { hasQuorum: false, isReachable: false, listed: BOTH }
  const settled: string[] = []
  const clock = manualClock()
  const parts = {
    own: { clusterId: 'c', name: 'site', nodeId: 'a', epoch: 1, keys: [], ...PLACE },
    etcd: {
      put: async (key: string) => settled.push(key),
      members: {
        list: async () =>
          sight.hasQuorum ? sight.listed : Promise.reject(new EtcdError('no-leader', 'it has no leader')),
      },
      maintenance: { status: () => Promise.reject(new EtcdError('unreachable', 'it refuses connections')) },
    },
    log: { caughtUp: Promise.resolve(), halted },
    peers: { livenessOf: () => ({ isReachable: sight.isReachable }) },
    store,
    members,
    files: { read: () => undefined },
    apiPortOf: () => 1,
    clock,
    messages: silentLog,
  } as unknown as SuccessionParts
  const succession = new Succession(parts)
  const taken: object[] = []
  succession.takeovers.takeOver = async (asked) => void taken.push(asked)
  return { succession, sight, taken, settled, members, clock }
}

t.test('a takeover names the node that is off', async (t) => {
  const { succession, taken } = await inPair(t)
  const error = await refuses(t, 'INVALID_BODY', succession.takeOver('node c', HOW))
  t.match(error.details.errors, [{ field: 'partnerIsOff', code: 'OTHER_NAME', message: /is called node b/ }])
  await succession.takeOver('node b', HOW)
  t.same(taken, [HOW])
})

t.test('of more nodes than two none takes over', async (t) => {
  const { succession, sight } = await inPair(t, { nodes: ['a', 'b', 'c'] })
  const error = await refuses(t, 'INVALID_BODY', succession.takeOver('node b', HOW))
  const alone = /lost for good, DELETE \/cluster\/nodes\/a\?force=true makes/
  t.match(error.details.errors, [{ field: 'partnerIsOff', code: 'NOT_A_PAIR', message: alone }])
  sight.hasQuorum = true
  t.match((await refuses(t, 'INVALID_BODY', succession.takeOver('node b', HOW))).message, /changes can be made: remove/)
})

t.test('while changes can be made there is nothing to take over, even when forced', async (t) => {
  const { succession, sight } = await inPair(t)
  sight.hasQuorum = true
  await refuses(t, 'IN_USE', succession.takeOver('node b', { ...HOW, isForced: true }))
})

t.test('a partner that answers is not off, unless forced', async (t) => {
  const { succession, sight, taken } = await inPair(t)
  sight.isReachable = true
  t.match((await refuses(t, 'IN_USE', succession.takeOver('node b', HOW))).message, /its peer port answers.*force/)
  await succession.takeOver('node b', { ...HOW, isForced: true })
  t.equal(taken.length, 1)
})

t.test('of two voters both have to know that an answer is agreed on', async (t) => {
  const { succession, sight, settled } = await inPair(t)
  await t.rejects(succession.settle(), { message: 'it has no leader' }, 'whether the other one votes is unknown')
  t.same(settled, [])
  sight.hasQuorum = true
  await succession.settle()
  t.same(settled, ['/f/settled'])
  sight.listed = BOTH.slice(0, 1)
  await succession.look(sight.listed)
  await succession.settle()
  t.equal(settled.length, 1, 'and none that does not vote')
  sight.listed = BOTH
  await succession.settle()
  t.equal(settled.length, 2, 'it has got its vote since the last look')
  const three = await inPair(t, { nodes: ['a', 'b', 'c'] })
  await three.succession.settle()
  t.same(three.settled, [], 'of three there is always another one')
})

t.test('a halted node takes over neither automatically nor on request', async (t) => {
  const { succession, members, clock, taken } = await inPair(t, { halted: 'it differs' })
  await members.setPair({ preferredNode: 'a', takeoverAfter_s: 1 })
  for (let looks = 0; looks < 5; looks += 1) {
    clock.advance(1_000)
    await succession.look(undefined)
  }
  t.same(taken, [])
})

t.test('a new kind of entry waits for the level that all nodes make possible', async (t) => {
  const { succession, members } = await inPair(t, { level: 1 })
  t.throws(() => succession.admit({ op: 'takeover', takeover: {} as never }), { code: 'NOT_SUPPORTED' })
  t.doesNotThrow(() => succession.admit(staged('a', 1)))
  t.doesNotThrow(() => succession.admit({ op: 'level', level: 2 }))
  const session = (value: object) =>
    ({ op: 'put', table: 'sessions', puts: [{ key: 's', value }], removed: [] }) as const
  t.doesNotThrow(() => succession.admit(session({ userId: 'u' })))
  t.throws(() => succession.admit(session({ userId: 'u', introduction: {} })), { code: 'NOT_SUPPORTED' })
  t.equal(members.level, 1)
})
