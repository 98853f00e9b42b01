import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { systemClock } from '../../../src/base/clock.ts'
import { defer } from '../../../src/base/deferred.ts'
import { silentLog } from '../../../src/base/log.ts'
import { pinOf } from '../../../src/cluster/node-certificate.ts'
import { newClusterKey } from '../../../src/cluster/sealing.ts'
import { EtcdError } from '../../../src/etcd/errors.ts'
import { EtcdService } from '../../../src/membership/etcd-service.ts'
import { JoinedCluster, type JoinedParts } from '../../../src/membership/joined-cluster.ts'
import { type Member, Members } from '../../../src/membership/members.ts'
import { clusterKeys, stoppableLog, when } from '../../fixtures/cluster-in-memory.ts'
import { openStore, refuses } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { FIRST_CERTIFIED, formedNode, NO_PARTNER } from '../../fixtures/membership.ts'
import { freePort } from '../../fixtures/traffic.ts'

const OTHER = { spki: '', serials: [], ...FIRST_CERTIFIED, tokenKey: '', version: '1.0.0' }

/** The node `a`, which has formed a cluster, and actions on the etcd beside it. */
async function begun(t: Test) {
  const place = { host: '127.0.0.1', port: await freePort() }
  const { store, files, own, memory } = await formedNode(t, systemClock, place)
  const members = new Members(store.members)
  const done: string[] = []
  const execute = async (steps: readonly { readonly why: string }[]) => {
    done.push(...steps.map(({ why }) => why))
    return { ok: true, done: 0, recorded: 0, warnings: [] } as const
  }
  const parts: JoinedParts = {
    store,
    members,
    files,
    service: new EtcdService({ execute, check: execute }, files),
    listen: place,
    handle: () => ({ status: 200, headers: {} }),
    vet: () => undefined,
    admit: async () => undefined,
    leave: async () => undefined,
    onFolded: undefined,
    stateFolder: files.folder,
    ...NO_PARTNER,
    clock: systemClock,
    log: silentLog,
  }
  return { parts, store, own, place, memory, done }
}

t.test('without etcd a node shows what it knows, and that nothing can be changed', async (t) => {
  const { parts, store, own, place } = await begun(t)
  const { members } = parts
  await members.add(() => ({ id: 'a', name: 'left', since: '1', ...place, ...OTHER, pin: 'p' }))
  await members.add(() => ({ id: 'b', name: 'right', since: '2', ...place, ...OTHER, port: 1, pin: 'q' }))
  const cluster = await JoinedCluster.begin(parts, own)
  const { nodes, ...state } = await cluster.state()
  t.match(state, { id: 'cluster-1', name: 'site', epoch: 1, quorum: false, sequence: 0, halted: undefined })
  t.match(nodes, [
    { id: 'a', name: 'left', isSelf: true, state: 'online', isVoter: false },
    { id: 'b', name: 'right', isSelf: false, isLeader: false, ahead: 0 },
  ])
  t.not(nodes[1]?.state, 'online')
  const done: string[] = []
  const work = (name: string) =>
    cluster.betweenLooks(async () => {
      done.push(`${name} begins`)
      await sleep(30)
      done.push(`${name} ends`)
    })
  await Promise.all([work('one'), work('other')])
  const [first, next] = done[0] === 'one begins' ? ['one', 'other'] : ['other', 'one']
  t.same(done, [`${first} begins`, `${first} ends`, `${next} begins`, `${next} ends`], 'one after another')
  await t.rejects(
    cluster.betweenLooks(() => Promise.reject(new TypeError('a defect'))),
    TypeError,
  )
  t.equal(await cluster.betweenLooks(async () => 'next'), 'next', 'after a failed one')
  store.orderBy(cluster.log)
  await refuses(t, 'NO_QUORUM', store.sessions.put('s', 1))
  await cluster.close()
  t.equal((await cluster.state()).nodes[1]?.state, 'unknown', 'a question asked before its end is answered')
})

const silent = () => Promise.reject(new EtcdError('unreachable', 'it does not answer'))

/** The log is available, and this node's etcd member is not. */
function withoutMember(client: object, list: () => Promise<never> = silent) {
  const nothing = () => undefined
  const member = { members: { list }, maintenance: { status: silent } }
  return Object.assign(client, { use: nothing, present: nothing, close: nothing, ...member }) as never
}

/**
 * The other node seals with a new key, which `a` is not given, before `a` has read anything. By then it has removed
 * `a`, unless `isLeaving` is undefined. Returns `a` once it reads no further.
 */
async function withoutKey(t: Test, isLeaving: boolean | undefined, more: Partial<JoinedParts> = {}) {
  const { parts, own, place, memory, done } = await begun(t)
  const [store, keys] = [openStore(t), clusterKeys()]
  const idle = { point: async () => undefined, onFolded: () => undefined }
  const log = await stoppableLog({ etcd: memory.client(), id: 'b', store, clock: manualClock(), keys, ...idle })
  store.orderBy(log)
  const members = new Members(store.members)
  const pin = pinOf(parts.files.certificates().client.certificate)
  const member: Member = { id: 'a', name: 'left', since: '1', ...place, ...OTHER, pin }
  await members.add(() => member)
  await members.add(() => ({ ...member, id: 'b', name: 'right', since: '2', port: 1, pin: 'q' }))
  const at = '2026-01-02T03:04:05.000Z'
  const mark = { member, stage: 'marked', at, by: 'b', keyId: keys.newestKeyId } as const
  if (isLeaving !== undefined) await members.remove(() => ({ ...mark, isLeaving }))
  keys.add(newClusterKey())
  await members.setPair(undefined)
  const cluster = await JoinedCluster.begin({ ...parts, ...more }, own, withoutMember(memory.client()))
  t.teardown(async () => {
    await cluster.close()
    await log.close()
  })
  await when(() => cluster.log.halted !== undefined)
  return { cluster, done }
}

t.test('a running node that is removed leaves, also when the next entry cannot be opened', async (t) => {
  let left: JoinedCluster | undefined
  const { cluster } = await withoutKey(t, true, { leave: async (leaving) => void (left = leaving) })
  t.match(cluster.removal, { isLeaving: true, isOut: false })
  t.match(cluster.log.halted, /^it was removed from the cluster site at 2026-01-02T03:04:05.000Z; it becomes a single/)
  await when(() => left !== undefined)
  t.equal(left, cluster)
})

t.test('a node that was away during its removal reports that after such an entry, and a person decides', async (t) => {
  const { cluster, done } = await withoutKey(t, false)
  t.match(
    cluster.log.halted,
    /DELETE \/cluster\/nodes\/a makes it a single node, which can join again with a new token$/,
  )
  await when(() => done.includes('Stop the member of etcd'))
  t.match(await cluster.state(), { halted: cluster.whyRemoved, removedAt: '2026-01-02T03:04:05.000Z' })
})

t.test('a member that lacks a key halts, and stays', async (t) => {
  let isGone = false
  const { cluster, done } = await withoutKey(t, undefined, { leave: async () => void (isGone = true) })
  const why =
    /^entry \d+ of the cluster's log cannot be applied on this node: .* with a key that this node does not have$/
  t.match(cluster.log.halted, why)
  // A look starts the etcd that does not answer.
  await when(() => done.length > 0)
  await cluster.betweenLooks(async () => undefined)
  t.same([cluster.removal, isGone], [undefined, false])
  t.notOk(done.includes('Stop the member of etcd'))
})

t.test('an absent member is started by each look, until this daemon is ending', async (t) => {
  const { parts, own, memory, done } = await begun(t)
  let looks = 0
  const etcd = withoutMember(memory.client(), () => {
    looks++
    return silent()
  })
  const cluster = await JoinedCluster.begin(parts, own, etcd)
  t.teardown(() => cluster.close())
  await when(() => done.length > 1)
  t.same([...new Set(done)], ['Start the member of etcd'])
  cluster.leaveEtcd()
  const [starts, before] = [done.length, looks]
  await when(() => looks > before + 1)
  t.equal(done.length, starts)
})

t.test('closed while a look asks its etcd member, it does not start it', async (t) => {
  const { parts, own, memory, done } = await begun(t)
  const asked = defer()
  const answer = defer<never>()
  const etcd = withoutMember(memory.client())
  Object.assign(etcd, {
    maintenance: {
      status: async () => {
        asked.resolve()
        return await answer.promise
      },
    },
    close: () => answer.reject(new EtcdError('unreachable', 'it is closed')),
  })
  const cluster = await JoinedCluster.begin(parts, own, etcd)
  await asked.promise
  await cluster.close()
  await cluster.betweenLooks(async () => undefined)
  t.same(done, [])
})
