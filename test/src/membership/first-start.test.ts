import { mkdirSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ApiError } from '../../../src/base/errors.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { silentLog } from '../../../src/base/log.ts'
import { parseAddress } from '../../../src/membership/node-address.ts'
import { FirstStart, startNewcomer } from '../../../src/membership/first-start.ts'
import { ClusterFiles } from '../../../src/membership/cluster-files.ts'
import type { EtcdClient } from '../../../src/etcd/client.ts'
import type { Waiting } from '../../../src/membership/patience.ts'
import { comeBack } from '../../../src/membership/returning.ts'
import { asked } from '../../fixtures/cluster-sight.ts'
import { EtcdCluster, type EtcdMember, unlessRefused } from '../../fixtures/etcd.ts'
import { until } from '../../fixtures/until.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { etcdPrograms } from '../../fixtures/etcd-programs.ts'

/** Real members: one that took the id of a deleted member, and a slow one. */

const programs = await etcdPrograms()
const skip = typeof programs === 'string' ? programs : false

/** The node whose etcd this is, with the members that `first` knows, and the fate of its own. */
async function nodeOf(test: Test, cluster: EtcdCluster, newcomer: EtcdMember, clock: Waiting['clock'] = systemClock) {
  const etcd = cluster.client()
  const place = parseAddress(new URL(newcomer.peerUrl).host, 0)!
  const own = { clusterId: 'c', name: 'site', nodeId: newcomer.name, epoch: 1, keys: [] as never, ...place }
  const self = { ...own, port: place.port - 2 }
  const service = { stop: () => newcomer.kill(), start: () => newcomer.start(), argumentsOf: () => ['--name=x'] }
  const firstStart = new FirstStart({ own: self, etcd, service, clock, wait: async () => undefined, log: silentLog })
  const files = new ClusterFiles(temporaryFolder(test, 'state'))
  mkdirSync(files.folder)
  await files.commit(self)
  return {
    look: async () => firstStart.isInVain(await etcd.members.list()),
    /** Its data is deleted, and it is started again. */
    replace: async () => {
      rmSync(newcomer.settings.dataFolder, { recursive: true, force: true })
      await asked(() => comeBack({ own: self, etcd, members: { epoch: 1 }, files, service }))
      await newcomer.start()
    },
    /** Id of the learner, when there is one. */
    id: () =>
      until(
        'it is one of them',
        async () => (await etcd.members.list()).find(({ name }) => name === newcomer.name)?.id,
      ),
  }
}

t.test('a member that took the id of a deleted one is replaced', { skip }, async (test) => {
  if (typeof programs === 'string') return
  const cluster = await EtcdCluster.start(test, programs, 1)
  const etcd = cluster.client()
  const newcomer = await cluster.prepare('newcomer')
  let now_ms = 0
  const node = await nodeOf(test, cluster, newcomer, { monotonic_ms: () => now_ms })
  const add = () => asked(() => etcd.members.add([newcomer.peerUrl], { isLearner: true }))
  // As if it had asked a member that was just reading of the deleted one.
  const gone = await add()
  await newcomer.start()
  test.equal(await node.id(), gone.id)
  await asked(() => etcd.members.remove(gone.id))
  await newcomer.kill()
  const { id } = await add()
  await newcomer.start()

  test.equal(await node.look(), false)
  now_ms = 9_000
  test.equal(await node.look(), false, 'it may only be slow')
  now_ms = 11_000
  test.equal(await node.look(), true)
  await node.replace()
  test.not(await node.id(), id)
  now_ms = 60_000
  test.equal(await node.look(), false, 'an existing member is left alone')
})

t.test('a member that has lost its data gets another id, and its vote', { skip }, async (test) => {
  if (typeof programs === 'string') return
  const cluster = await EtcdCluster.start(test, programs, 1)
  const etcd = cluster.client()
  const newcomer = await cluster.prepare('newcomer')
  const node = await nodeOf(test, cluster, newcomer)
  await etcd.members.add([newcomer.peerUrl], { isLearner: true })
  await newcomer.start()
  const id = await node.id()
  /** Returns whether it has ended on its own, and otherwise waits until it has the current data. */
  const isInVain = async (mark: string) => {
    await etcd.put('mark', mark)
    const has = async (client: EtcdClient) =>
      (await client.range({ key: 'mark' }, { isSerializable: true })).kvs[0]?.value.toString() === mark
    const end = await until('it has ended, or follows', async () => {
      if (newcomer.hasEnded) return 'ended'
      return (await unlessRefused(cluster.alone(newcomer, has))) === true && 'follows'
    })
    return end === 'ended'
  }
  // While its first answer is on the way, the leader still starts again with it.
  for (let tries = 0; !(await isInVain(`${tries}`)); tries++) {
    await newcomer.kill()
    rmSync(newcomer.settings.dataFolder, { recursive: true })
    await newcomer.start()
  }
  test.match(newcomer.log, /is out of range \[lastIndex\(0\)\]/, 'the reason why it cannot be the same one')
  await node.replace()
  const other = await node.id()
  test.not(other, id)
  await asked(() => etcd.members.promote(other))
})

/** Returns how often it was started; `mend` lets the second start succeed. */
async function startsOf(newcomer: Awaited<ReturnType<EtcdCluster['prepare']>>, mend: () => Promise<unknown>) {
  let starts = 0
  const restart = async () => {
    starts += 1
    await newcomer.start()
    if (starts > 1) return
    await newcomer.ended()
    await mend()
    throw new ApiError('NOT_SUPPORTED', `Restart the member of etcd failed: ${newcomer.log}`)
  }
  await startNewcomer({ clock: systemClock, wait: sleep }, { restart })
  return starts
}

t.test('a newcomer that no member lists yet is restarted', { skip }, async (test) => {
  if (typeof programs === 'string') return
  const cluster = await EtcdCluster.start(test, programs, 1)
  const newcomer = await cluster.prepare('newcomer')
  const etcd = cluster.client()
  const add = () => etcd.members.add([newcomer.peerUrl], { isLearner: true })
  test.equal(await startsOf(newcomer, add), 2)
  const isThere = async () => (await etcd.members.list()).some(({ name }) => name === 'newcomer') || undefined
  test.equal(await until('it is there', isThere), true)
  const lasting = new ApiError('NOT_SUPPORTED', 'no space left')
  await test.rejects(
    startNewcomer({ clock: systemClock, wait: sleep }, { restart: async () => Promise.reject(lasting) }),
    lasting,
  )
})

t.test('a newcomer that no member answers yet is restarted', { skip }, async (test) => {
  if (typeof programs === 'string') return
  const cluster = await EtcdCluster.start(test, programs, 1)
  const newcomer = await cluster.prepare('newcomer')
  const etcd = cluster.client()
  await etcd.members.add([newcomer.peerUrl], { isLearner: true })
  const first = cluster.member(0)
  await first.kill()
  test.equal(await startsOf(newcomer, () => first.start()), 2)
  const isThere = async () => (await etcd.members.list()).some(({ name }) => name === 'newcomer') || undefined
  test.equal(await until('it is there', () => isThere().catch(() => undefined)), true)
})
