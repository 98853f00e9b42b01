import { cpSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { EtcdClient } from '../../src/etcd/client.ts'
import { EtcdError } from '../../src/etcd/errors.ts'
import { EtcdCluster, type EtcdMember, unlessRefused } from '../fixtures/etcd.ts'
import { until } from '../fixtures/until.ts'
import { errorOf } from '../fixtures/etcd-error.ts'
import { etcdPrograms } from '../fixtures/etcd-programs.ts'
import { noSmallDisk, smallDisk } from '../fixtures/small-disk.ts'

/** The client while members of the real etcd are ended, killed and suspended. */

t.setTimeout(1_800_000)
const programs = await etcdPrograms()
const skip = typeof programs === 'string' ? programs : false
const noDisk = skip === false ? noSmallDisk : skip
/** For calls that should fail: longer than an election, which takes up to 2 s on a quiet machine. */
const SOON = { timeout_ms: 3_000 }
/** A third of it is for a member that hangs. */
const PATIENT = { timeout_ms: 15_000 }

async function started(test: Test, count: number) {
  if (typeof programs === 'string') throw new Error(programs)
  const cluster = await EtcdCluster.start(test, programs, count)
  return { cluster, client: cluster.client() }
}

const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString()
const versionOf = async (client: EtcdClient, key: string) => (await client.range({ key })).kvs[0]?.version ?? 0
/** A write that is executed once, however often it is sent. */
const once = async (client: EtcdClient, key: string, options = {}) =>
  await client.transact(
    { compare: [{ key, of: 'createRevision', is: '=', than: 0 }], success: [{ put: key, value: 'once' }] },
    options,
  )

/** Resolves when another member than this one leads. */
async function ledByAnother(cluster: EtcdCluster, client: EtcdClient, member: EtcdMember): Promise<void> {
  if ((await cluster.leader(member)) !== member) return
  const other = cluster.members.find((one) => one !== member)
  if (other === undefined) throw new Error('nobody else to lead')
  await client.maintenance.moveLeader((await cluster.status(other)).memberId)
}

t.test("the node's own member is stopped: writes go to another member", { skip }, async (test) => {
  const { cluster, client } = await started(test, 3)
  await client.put('a', '1')
  await cluster.member(0).stop()
  await client.put('a', '2')
  test.equal(text((await client.range({ key: 'a' })).kvs[0]?.value), '2')
  await cluster.member(0).start()
  await cluster.healthy(cluster.member(0))
  test.equal(await versionOf(cluster.client(), 'a'), 2)
})

t.test("the node's own member hangs: the outcome is unknown, and nothing is written twice", { skip }, async (test) => {
  const { cluster } = await started(test, 3)
  const client = cluster.client(0, PATIENT)
  const own = cluster.member(0)
  await ledByAnother(cluster, client, own)
  // The client has a connection that it trusts.
  await client.range({ key: 'a' })
  await own.pause()
  const error = await errorOf(once(client, 'a', SOON))
  test.match(error, {
    kind: 'unknown-outcome',
    message: /did not answer within 3000 ms; it is unknown whether the write was executed/,
  })
  // The caller checks, and sends missing writes again.
  const isThere = (await versionOf(client, 'a')) > 0
  test.equal((await once(client, 'a')).succeeded, !isThere)
  own.resume()
  await cluster.healthy(own)
  const { revision } = await client.range({ key: 'a' })
  await until('it has all', async () => (await cluster.status(own)).revision >= revision)
  test.equal(await versionOf(client, 'a'), 1)
  // Without a connection to the hanging member, a write goes elsewhere automatically.
  await own.pause()
  test.ok((await once(cluster.client(0, PATIENT), 'b')).succeeded)
  own.resume()
})

t.test('a disk is full: its member ends, others go on, with space it catches up', { skip: noDisk }, async (test) => {
  const { cluster } = await started(test, 3)
  const client = cluster.client(0, PATIENT)
  const full = cluster.member(0)
  await full.stop()
  // Room for two of the 64 MiB files that it prepares.
  const disk = smallDisk(test, 160)
  const dataFolder = join(disk, 'etcd')
  cpSync(full.settings.dataFolder, dataFolder, { recursive: true })
  await full.start({ dataFolder })
  await cluster.healthy(full)
  const free = statfsSync(disk)
  try {
    writeFileSync(join(disk, 'filler'), Buffer.alloc(Math.max(0, free.bavail * free.bsize - 2 ** 20)))
  } catch {
    // The member has used some of the space meanwhile.
  }
  let ended = false
  const end = full.ended().then(() => (ended = true))
  const value = 'x'.repeat(2 ** 20)
  let written = 0
  // A write in progress at its end may or may not be executed.
  while (!ended) written = await client.put(`full/${written}`, value, SOON).catch(() => written)
  await end
  test.match(full.log, /no space left on device/)
  const revision = await until('others go on', async () => await unlessRefused(client.put('a', '1', SOON)))
  rmSync(join(disk, 'filler'))
  await full.start({ dataFolder })
  await cluster.healthy(full)
  await until('it has all', async () => (await cluster.status(full)).revision >= revision)
  const own = await cluster.alone(full, async (one) => await one.range({ key: 'a' }, { isSerializable: true }))
  test.equal(text(own.kvs[0]?.value), '1')
})

t.test('a watch over a kill of the leader', { skip }, async (test) => {
  const { cluster, client } = await started(test, 3)
  const leader = await cluster.leader()
  const follower = cluster.members.find((member) => member !== leader)
  if (follower === undefined) throw new Error('nobody follows')
  const at = (member: EtcdMember) => ({ at: member.url })
  const from = await client.put('w/0', '0')
  const ends = await client.watch({ prefix: 'w/' }, { from, ...at(leader) })
  const stays = await client.watch({ prefix: 'w/' }, { from, ...at(follower) })
  const told: string[] = []
  let last = from - 1
  const seen = async (watch: typeof ends, until_key: string) => {
    for await (const report of watch) {
      last = report.revision
      if (report.kind === 'events') told.push(...report.events.map(({ kv }) => text(kv.key)))
      if (told.at(-1) === until_key) return
    }
  }
  const end = errorOf(seen(ends, 'w/9'))
  await client.put('w/1', '1')
  await leader.kill()
  test.match(await end, { kind: 'unreachable' })
  await until('somebody else leads', async () => await unlessRefused(client.put('w/2', '2', SOON)))
  await client.put('w/3', '3')
  // At another member, from where this one ended.
  await seen(await client.watch({ prefix: 'w/' }, { from: last + 1 }), 'w/3')
  const unique = [...new Set(told)]
  test.same(unique, ['w/0', 'w/1', 'w/2', 'w/3'])
  // A watch at a living member may continue, or end because there was no leader for long.
  told.length = 0
  last = from - 1
  await seen(stays, 'w/3').catch(async (error: unknown) => {
    test.match(error, { kind: 'no-leader' })
    await seen(await client.watch({ prefix: 'w/' }, { from: last + 1 }), 'w/3')
  })
  test.same([...new Set(told)], ['w/0', 'w/1', 'w/2', 'w/3'])
})

t.test('no quorum: writes and reads fail with that reason, old data is answered', { skip }, async (test) => {
  const { cluster, client } = await started(test, 3)
  await client.put('a', '1')
  const watch = await client.watch({ key: 'a' })
  const watched = errorOf(
    (async () => {
      for await (const report of watch) test.equal(report.kind, 'progress')
    })(),
  )
  await cluster.member(1).kill()
  await cluster.member(2).kill()
  // A leader that does not yet know that it is alone accepts a write, whose outcome is then unknown.
  test.match((await errorOf(client.put('a', '2', SOON))).kind, /^(unknown-outcome|no-leader)$/)
  test.equal((await watched).kind, 'no-leader')
  const refused = await until('it knows that it is alone', async () => {
    const error = await client.put('a', '3', SOON).catch((reason: unknown) => reason)
    return error instanceof EtcdError && error.kind === 'no-leader' ? error : undefined
  })
  test.match(refused, { facts: { said: 'etcdserver: no leader' } })
  test.equal((await errorOf(client.range({ key: 'a' }, SOON))).kind, 'no-leader')
  test.equal((await errorOf(client.members.list(SOON))).kind, 'no-leader')
  test.equal((await client.members.list({ isSerializable: true })).length, 3)
  const old = await client.range({ key: 'a' }, { isSerializable: true })
  test.equal(old.count, 1)
  test.match(await cluster.status(cluster.member(0)), { leader: '0', errors: ['etcdserver: no leader'] })
  await cluster.member(1).start()
  await cluster.healthy(cluster.member(0))
  const { version = 0 } = (await client.range({ key: 'a' })).kvs[0] ?? {}
  test.ok(version === 1 || version === 2, 'that write was executed once, or never')
  await client.put('a', '4')
})

t.test('the last of two members becomes a cluster of its own', { skip }, async (test) => {
  const { cluster, client } = await started(test, 2)
  const revision = await client.put('a', '1')
  const [left, gone] = [cluster.member(0), cluster.member(1)]
  // An answer of the leader does not mean that the other member knows the write as committed, and uncommitted writes
  // are dropped below.
  await until('both have it', async () => (await cluster.status(left)).revision >= revision)
  await gone.kill()
  await left.stop()
  await left.start({ isForcedNew: true })
  await cluster.healthy(left)
  test.equal((await client.members.list()).length, 1)
  await client.put('a', '2')
  // One round is enough.
  await left.stop()
  await left.start()
  await cluster.healthy(left)
  test.equal(await versionOf(client, 'a'), 2)
  // The excluded member ends on its own.
  await gone.start()
  await gone.ended()
  test.match(gone.log, /permanently removed/)
})
