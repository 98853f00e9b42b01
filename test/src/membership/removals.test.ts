import t, { type Test } from 'tap'
import { ApiError } from '../../../src/base/errors.ts'
import { silentLog } from '../../../src/base/log.ts'
import { newNodeRequest } from '../../../src/cluster/authority.ts'
import { authorityName, KEYS_SPAN } from '../../../src/cluster/places.ts'
import { keyIdOf } from '../../../src/cluster/sealing.ts'
import { EtcdError } from '../../../src/etcd/errors.ts'
import { JoinTokens } from '../../../src/membership/join-tokens.ts'
import { type Member, Members } from '../../../src/membership/members.ts'
import { takeKeys } from '../../../src/membership/own-keys.ts'
import type { Standing } from '../../../src/peers/standing.ts'
import { inTime, Removals } from '../../../src/membership/removals.ts'
import { clusterKeys, spkiOf } from '../../fixtures/cluster-in-memory.ts'
import { openStore, refuses } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { FIRST_CERTIFIED, founded } from '../../fixtures/membership.ts'
import { EtcdInMemory } from '../../simulators/etcd-in-memory.ts'

const unhealthy = () => new EtcdError('refused', 'it refuses: unhealthy cluster')
const PIN = Buffer.alloc(32, 1).toString('base64url')

/** Three nodes as seen by one of them; each call of etcd may end the calling node. */
async function begun(test: Test, nodeId = 'a') {
  const store = openStore(test)
  const clock = manualClock(Date.now())
  const keys = clusterKeys()
  const memory = new EtcdInMemory()
  const client = memory.client()
  const members = new Members(store.members)
  await founded(store, client, keys, clock.now_ms())
  const tokens = new JoinTokens(store.joinTokens, clock)
  const privateKeys = new Map<string, string>()
  for (const [index, id] of ['a', 'b', 'c'].entries()) {
    const { key } = await newNodeRequest()
    privateKeys.set(id, key)
    const member = {
      id,
      name: `node ${id}`,
      host: id,
      port: 1,
      pin: `pin ${id}`,
      spki: spkiOf(key),
      serials: [id],
      ...FIRST_CERTIFIED,
    }
    await members.add(() => ({ ...member, tokenKey: '', version: '1.0.0', since: String(index) }) satisfies Member)
  }
  const holder = { keys, nodeId, privateKey: privateKeys.get(nodeId) ?? '' }
  members.follow(() => takeKeys(holder, members))
  const listed = new Set(['a', 'b', 'c'])
  const [silent, learners, reachable] = [new Set<string>(), new Set<string>(), new Set(['b'])]
  let [calls, failsAt, unhealthyFor, seals] = [0, -1, 0, 0]
  let standing: Standing | undefined
  let isSilent = false
  const step = () => {
    if ((calls += 1) === failsAt) throw new Error('killed')
  }
  const etcd = Object.assign(client, {
    put: async (...args: Parameters<typeof client.put>) => {
      step()
      return await memory.client().put(...args)
    },
    transact: async (...args: Parameters<typeof client.transact>) => {
      step()
      return await memory.client().transact(...args)
    },
    members: {
      list: async () => {
        step()
        if (isSilent) throw unhealthy()
        return [...listed].map((name) => ({ id: name, name, peerUrls: [], isLearner: learners.has(name) }))
      },
      remove: async (id: string) => {
        step()
        if ((unhealthyFor -= 1) >= 0) throw unhealthy()
        listed.delete(id)
      },
    },
    maintenance: {
      status: async ({ at }: { readonly at: string }) => {
        if (silent.has(new URL(at).hostname)) throw unhealthy()
        return {}
      },
    },
  })
  const removals = new Removals({
    own: { clusterId: 'cluster-1', name: 'site', nodeId, epoch: 1, keys: keys.stored(), host: nodeId, port: 1 },
    etcd: etcd as never,
    keys,
    log: {
      seal: async () => {
        step()
        seals += 1
      },
    },
    tokens,
    members,
    isReachable: (id) => reachable.has(id),
    doesWitnessVote: async (id) => !silent.has(id),
    isApplying: () => isApplying,
    standing: async () => standing,
    clock,
    messages: silentLog,
    wait: async (ms) => clock.advance(ms),
  })
  let isApplying = false
  /** The value that seals the key of the newest authorities. */
  const authorityKey = async () => {
    const { keyId = '' } = members.authorities().at(-1) ?? {}
    const [found] = (await memory.client().range({ key: authorityName('peer', keyId) })).kvs
    return found && keyIdOf(found.value)
  }
  return {
    removals,
    members,
    tokens,
    keys,
    listed,
    silent,
    learners,
    reachable,
    memory,
    clock,
    authorityKey,
    apply: () => (isApplying = true),
    failAt: (call: number) => ([calls, failsAt] = [0, call]),
    beSilent: () => (isSilent = true),
    beUnhealthy: (times: number) => (unhealthyFor = times),
    seals: () => seals,
    /** What the others report about this node. */
    say: (said: Standing) => (standing = said),
    store,
  }
}

t.test('nothing of a removed node is valid any more', async (t) => {
  const { removals, members, tokens, keys, listed, authorityKey, beUnhealthy, seals } = await begun(t)
  const before = keys.newestKeyId
  const { id } = await tokens.create({ role: 'node', issuedBy: 'c', validFor_ms: 60_000 }, PIN, ['192.0.2.1:9444'])
  beUnhealthy(3)
  await removals.remove('c')
  t.same([[...listed], members.get('c'), await tokens.kept(id)], [['a', 'b'], undefined, undefined])
  t.match(members.removed(), [{ member: { id: 'c' }, stage: 'done', by: 'a', isLeaving: false, keyId: before }])
  t.not(keys.newestKeyId, before)
  t.same([await authorityKey(), seals()], [keys.newestKeyId, 1])
  const [notice] = members.keyNotices()
  t.same(Object.keys(notice?.sealedFor ?? {}), ['a', 'b'], 'it gets the new key from no node')
  await refuses(t, 'NOT_FOUND', removals.remove('c'))
})

t.test('a node killed at any step: the same request completes it', async (t) => {
  for (let call = 1; ; call++) {
    const node = await begun(t)
    node.failAt(call)
    const isWhole = await node.removals.remove('c').then(
      () => true,
      () => false,
    )
    if (isWhole) {
      t.ok(call > 5, `${call} steps`)
      break
    }
    await node.removals.remove('c')
    t.match(node.members.removed(), [{ stage: 'done' }], `killed at step ${call}`)
    t.same([...node.listed], ['a', 'b'])
    t.equal(await node.authorityKey(), node.keys.newestKeyId)
    t.equal(node.members.keyNotices().length, 1, 'one new key')
    t.equal(node.members.authorities().length, 2, 'and new authorities, once')
    t.ok((await node.memory.client().range(KEYS_SPAN)).kvs.length >= 1)
  }
})

t.test('a refusal changes nothing', async (t) => {
  const { removals, members, silent, listed, learners, apply } = await begun(t)
  await refuses(t, 'NOT_FOUND', removals.remove('nobody'))
  silent.add('b')
  t.match((await refuses(t, 'NO_QUORUM', removals.remove('c'))).message, /Without node c .* bring node b back/)
  t.same([members.all().length, listed.size], [3, 3])
  learners.add('c')
  silent.delete('b')
  apply()
  await refuses(t, 'APPLY_IN_PROGRESS', removals.remove('b'))
  silent.add('b')
  await removals.remove('c')
  t.equal(members.all().length, 2, 'a node without a vote costs no quorum')
})

t.test('when nothing was begun, it is not reported as continuing', async (t) => {
  const { removals, members, beSilent } = await begun(t)
  beSilent()
  const { message } = await refuses(t, 'NO_QUORUM', removals.remove('c'))
  t.match(message, /Nothing was changed/)
  t.notMatch(message, /continue automatically/)
  t.same(members.removed(), [])
  t.match(message, /if they are lost for good, DELETE \/cluster\/nodes\/a\?force=true makes this node a single node/)
  t.match((await refuses(t, 'NO_QUORUM', removals.leave())).message, /with force this node becomes a single node/)
})

t.test('the only vote stays, whichever other nodes exist', async (t) => {
  const { removals, members, listed } = await begun(t)
  await removals.remove('c')
  listed.delete('b')
  t.match(
    (await refuses(t, 'IN_USE', removals.remove('a'))).message,
    /no node would have a vote. node b has not caught up: wait/,
  )
  t.equal(members.removed().length, 1)
  listed.add('b')
  await members.change('b', (member) => ({ ...member, maintenance: { since: '', by: 'ann' } }))
  t.match(
    (await refuses(t, 'IN_USE', removals.remove('a'))).message,
    /node b .* in maintenance: end the maintenance first/,
  )
  t.equal(members.removed().length, 1, 'it may be giving its vote up')
})

t.test('the last node stays', async (t) => {
  const { removals, members, reachable } = await begun(t)
  reachable.clear()
  await removals.remove('b')
  await removals.remove('c')
  t.match((await refuses(t, 'IN_USE', removals.remove('a'))).message, /the last node .* with force/)
  t.equal(members.all().length, 1)
})

t.test('one node continues what another has begun', async (t) => {
  const { removals, members, reachable } = await begun(t)
  t.equal(removals.isDue, false)
  await removals.mark('c')
  t.equal(removals.isDue, true)
  t.equal(removals.isOurs({ by: 'b' }), false, 'it is there')
  reachable.delete('b')
  t.equal(removals.isOurs({ by: 'b' }), true)
  t.equal(removals.isOurs({ by: 'c' }), true, 'it left on its own')
  await removals.finish()
  t.same([removals.isDue, members.removed()[0]?.stage], [false, 'done'])
})

t.test('a removed node is forgotten when its certificates have expired', async (t) => {
  const { removals, members, clock } = await begun(t)
  await removals.remove('c')
  clock.advance(400 * 86_400_000)
  await removals.finish()
  t.same(members.removed(), [])
})

t.test('a step that etcd refuses for too long is not answered as done', async (t) => {
  const { removals, members, beUnhealthy } = await begun(t)
  beUnhealthy(1_000)
  await refuses(t, 'NO_QUORUM', removals.remove('c'))
  t.equal(members.removed()[0]?.stage, 'marked')
  await t.rejects(
    inTime(() => Promise.reject(new TypeError('a defect'))),
    TypeError,
  )
})

const REMOVED = { removedAt: '2026-01-02T03:04:05.000Z', isLeaving: true }

t.test('a leaving node marks itself, and removes itself from etcd', async (t) => {
  const { removals, members, listed } = await begun(t, 'b')
  await removals.leave()
  t.match(members.removed(), [{ member: { id: 'b' }, stage: 'marked', by: 'b', isLeaving: true }])
  t.same([...listed], ['a', 'c'])
  await removals.leave()
  t.equal(members.removed().length, 1, 'once')
})

t.test('a leaving node has left once the others have completed it, even before it knows', async (t) => {
  const { removals, store, say, beUnhealthy, clock } = await begun(t, 'b')
  // Its log halts at the first entry under the new key, and no etcd answers it any more.
  const lost = new ApiError('NO_QUORUM', 'Whether the change was written is not known')
  store.orderBy({ nodeId: 'b', append: () => Promise.reject(lost) } as never)
  t.equal(await refuses(t, 'NO_QUORUM', removals.leave()), lost, 'no node says that it was removed')
  say({ ...REMOVED, isOut: false })
  beUnhealthy(1_000)
  const before_ms = clock.monotonic_ms()
  await refuses(t, 'NO_QUORUM', removals.leave())
  t.ok(clock.monotonic_ms() - before_ms >= 20_000, 'as long as its member may be needed')
  say({ ...REMOVED, isOut: true })
  await removals.leave()
})

t.test('a refusal to a leaving node holds whatever etcd answers', async (t) => {
  const { removals, apply, members } = await begun(t, 'b')
  apply()
  await refuses(t, 'APPLY_IN_PROGRESS', removals.leave())
  t.equal(members.all().length, 3)
})

/** The first three with a witness, which etcd counts. */
async function witnessed(test: Test) {
  const node = await begun(test)
  const voter = { id: 'w', name: 'witness', host: 'w', port: 1, pin: 'pin w', serials: ['w'], ...FIRST_CERTIFIED }
  await node.members.addWitness(() => ({ ...voter, version: '1.0.0', since: '4' }))
  node.listed.add('w')
  return node
}

t.test('a witness is removed without new keys: it never had a key', async (t) => {
  const { removals, members, listed, keys, apply, reachable, seals } = await witnessed(t)
  reachable.add('w')
  apply()
  const before = keys.newestKeyId
  await removals.remove('w')
  t.same([[...listed], members.witness], [['a', 'b', 'c'], undefined])
  t.match(members.removed(), [{ member: { id: 'w' }, isWitness: true, stage: 'done', isLeaving: true }])
  t.same([keys.newestKeyId, members.authorities().length, seals()], [before, 1, 0])
})

t.test('whether a witness answers matters for the remaining votes', async (t) => {
  const { removals, silent, members } = await witnessed(t)
  for (const id of ['b', 'w']) silent.add(id)
  t.match((await refuses(t, 'NO_QUORUM', removals.remove('c'))).message, /bring node b, witness back/)
  silent.delete('w')
  await removals.remove('c')
  t.match(members.removed(), [{ member: { id: 'c' }, stage: 'done' }])
})

t.test('of a pair without a quorum the other one is removed when this one has taken over', async (t) => {
  const { removals, reachable, beSilent } = await begun(t)
  reachable.clear()
  await removals.remove('c')
  beSilent()
  t.match(
    (await refuses(t, 'NO_QUORUM', removals.remove('b'))).message,
    /b is off for good, PUT \/cluster\/takeover continues/,
  )
})
