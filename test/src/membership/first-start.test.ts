import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { ApiError } from '../../../src/base/errors.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { silentLog } from '../../../src/base/log.ts'
import { parseAddress } from '../../../src/membership/node-address.ts'
import { FirstStart, startNewcomer } from '../../../src/membership/first-start.ts'
import { EtcdCluster, until } from '../../fixtures/etcd.ts'
import { etcdPrograms } from '../../fixtures/etcd-programs.ts'

/** Real members: one that took the id of a member that is gone, and one that only takes its time. */

t.setTimeout(600_000)
const programs = await etcdPrograms()
const skip = typeof programs === 'string' ? programs : false

t.test('a member that took the id of one that is gone begins anew', { skip }, async (test) => {
  if (typeof programs === 'string') return
  const cluster = await EtcdCluster.start(test, programs, 1)
  const [first, etcd] = [cluster.member(0), cluster.client()]
  const newcomer = await cluster.prepare('newcomer')
  const add = () =>
    until('room for it', () => etcd.members.add([newcomer.peerUrl], { isLearner: true }).catch(() => undefined))
  const listed = async (id: string) => (await etcd.members.list()).find((one) => one.id === id)
  // As if it had asked a member that was just reading of the one before.
  const gone = await add()
  await newcomer.start()
  await until('it is one of them', async () => ((await listed(gone.id))?.name === 'newcomer' ? true : undefined))
  await until('it is removed', () =>
    etcd.members.remove(gone.id).then(
      () => true,
      () => undefined,
    ),
  )
  await newcomer.kill()
  const { id } = await add()
  await newcomer.start()

  let [now_ms, wipes] = [0, 0]
  const place = parseAddress(new URL(newcomer.peerUrl).host, 0)!
  const firstStart = new FirstStart({
    own: { host: place.host, port: place.port - 2 },
    etcd: { members: { list: () => cluster.alone(first, (client) => client.members.list()) } },
    files: {
      wipeEtcd: async () => {
        wipes += 1
        rmSync(newcomer.settings.dataFolder, { recursive: true })
      },
    },
    service: { stop: () => newcomer.kill(), start: () => newcomer.start() },
    clock: { ...systemClock, monotonic_ms: () => now_ms },
    wait: async () => undefined,
    log: silentLog,
  })
  const look = async () => firstStart.look(await cluster.alone(first, (client) => client.members.list()))
  await look()
  now_ms = 9_000
  await look()
  test.equal(wipes, 0, 'it may only be slow')
  now_ms = 11_000
  await look()
  test.equal(wipes, 1)
  await until('it is there', async () => ((await listed(id))?.name === 'newcomer' ? true : undefined))
  now_ms = 60_000
  await look()
  test.equal(wipes, 1, 'what is there is left alone')
})

/** How often it was started; `mend` makes room for the second time. */
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

t.test('a newcomer whom nobody lists yet is started again', { skip }, async (test) => {
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

t.test('a newcomer whom nobody answers yet is started again', { skip }, async (test) => {
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
