import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import type { RangeAnswer } from '../../src/etcd/transaction.ts'
import { versionProblem } from '../../src/etcd/version.ts'
import type { Watch, WatchEvent } from '../../src/etcd/watch.ts'
import { EtcdSpace } from '../../src/membership/etcd-space.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { EtcdCluster } from '../fixtures/etcd.ts'
import { until } from '../fixtures/until.ts'
import { TestCa } from '../fixtures/etcd-certificates.ts'
import { errorOf } from '../fixtures/etcd-error.ts'
import { etcdPrograms } from '../fixtures/etcd-programs.ts'
import { finished } from './debian-tree.ts'

/** The client and the real etcd of Debian 13, as a cluster on loopback. */

t.setTimeout(1_800_000)
const programs = await etcdPrograms()
const skip = typeof programs === 'string' ? programs : false
const MEBIBYTE = 2 ** 20

async function started(test: Test, count: number, more: Parameters<typeof EtcdCluster.start>[3] = {}) {
  if (typeof programs === 'string') throw new Error(programs)
  const cluster = await EtcdCluster.start(test, programs, count, more)
  return { cluster, client: cluster.client(), programs }
}

const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString()
const keys = ({ kvs }: RangeAnswer) => kvs.map(({ key }) => text(key))
const shown = ({ kind, kv }: WatchEvent) => `${kind} ${text(kv.key)}=${text(kv.value)} ${kv.modRevision}`

/** Reads so many events as they arrive. */
async function take(watch: Watch, count: number): Promise<readonly WatchEvent[]> {
  const events: WatchEvent[] = []
  for await (const report of watch) {
    if (report.kind === 'events') events.push(...report.events)
    if (events.length >= count) break
  }
  return events
}

t.test('this etcd is new enough', { skip }, async (test) => {
  if (typeof programs === 'string') return
  test.equal(versionProblem((await finished(programs.etcd, ['--version'])).stdout), undefined)
})

t.test('keys and values', { skip }, async (test) => {
  const { client } = await started(test, 3)
  const first = await client.put('k/a', 'one')
  await client.put('k/b', Uint8Array.of(0, 0xff, 0x80))
  await client.put('k/ü', '')
  const all = await client.range({ prefix: 'k/' })
  test.same([keys(all), all.count, all.hasMore, all.revision], [['k/a', 'k/b', 'k/ü'], 3, false, first + 2])
  test.same(all.kvs[1]?.value, Buffer.of(0, 0xff, 0x80))
  test.match(all.kvs[0], { createRevision: first, modRevision: first, version: 1, lease: '0' })
  const descending = { by: 'key', isDescending: true } as const
  const part = await client.range({ prefix: 'k/' }, { limit: 2, sort: descending, keysOnly: true })
  test.same([keys(part), part.count, part.hasMore, part.kvs[0]?.value.length], [['k/ü', 'k/b'], 3, true, 0])
  test.same(await client.range({ prefix: 'k/' }, { countOnly: true }), { ...all, kvs: [] })
  await client.put('k/a', 'two')
  test.equal(text((await client.range({ key: 'k/a' }, { revision: first })).kvs[0]?.value), 'one')
  test.same(keys(await client.range({ from: 'k/b', before: 'k/c' })), ['k/b'])
  test.same(keys(await client.range({ from: 'k/b' })), ['k/b', 'k/ü'])
  test.equal(await client.delete({ prefix: 'k/b' }), 1)
  test.equal((await client.range({ prefix: '' })).count, 2)
  test.match(await errorOf(client.range({ key: 'k/a' }, { revision: 9999 })), { kind: 'refused', facts: { code: 11 } })
  test.match(await errorOf(client.range({ key: '' })), { kind: 'refused', message: 'it refuses: key is not provided' })
  const { revision } = await client.range({ key: 'k/a' })
  await client.compact(revision, { isPhysical: true })
  test.equal((await errorOf(client.range({ key: 'k/a' }, { revision: first }))).kind, 'compacted')
  test.equal((await errorOf(client.compact(revision))).kind, 'compacted')
})

t.test('a transaction, and a race that is lost', { skip }, async (test) => {
  const { cluster, client } = await started(test, 3)
  const created = await client.transact({
    compare: [{ key: 'seq', of: 'createRevision', is: '=', than: 0 }],
    success: [{ put: 'seq', value: '1' }, { put: 'log/1', value: 'first' }, { get: { prefix: 'log/' } }],
    failure: [{ get: { key: 'seq' } }],
  })
  test.match(created, {
    succeeded: true,
    answers: [{ did: 'put' }, { did: 'put' }, { did: 'get', range: { count: 1 } }],
  })
  const { revision } = created
  // Three writers know the same revision: one of them is first.
  const race = await Promise.all(
    cluster.members.map(
      async (member, index) =>
        await cluster.client(index).transact({
          compare: [{ key: 'seq', of: 'modRevision', is: '=', than: revision }],
          success: [{ put: 'seq', value: member.name }],
          failure: [{ get: { key: 'seq' } }],
        }),
    ),
  )
  test.equal(race.filter(({ succeeded }) => succeeded).length, 1)
  const winner = cluster.member(race.findIndex(({ succeeded }) => succeeded)).name
  for (const { succeeded, answers } of race) {
    const [answer] = answers
    if (!succeeded && answer?.did === 'get') test.equal(text(answer.range.kvs[0]?.value), winner)
  }
  const others = await client.transact({
    compare: [
      { key: 'seq', of: 'version', is: '<', than: 3 },
      { key: 'seq', of: 'value', is: '!=', than: 'nobody' },
      { key: 'none', of: 'version', is: '=', than: 0 },
    ],
    success: [{ delete: { prefix: 'log/' } }],
  })
  test.match(others, { succeeded: true, answers: [{ did: 'delete', deleted: 1 }] })
  test.same((await client.transact({ compare: [{ key: 'seq', of: 'version', is: '>', than: 9 }] })).answers, [])
  const twice = [
    { put: 'a', value: '1' },
    { put: 'a', value: '2' },
  ] as const
  test.match(await errorOf(client.transact({ success: twice })), { kind: 'refused', facts: { code: 3 } })
  test.equal((await errorOf(client.put('a', Buffer.alloc(2 * MEBIBYTE)))).kind, 'refused')
})

t.test('leases', { skip }, async (test) => {
  const { client } = await started(test, 3)
  const lease = await client.leases.grant(60)
  const revision = await client.put('live/a', 'a', { lease: lease.id })
  test.equal((await client.range({ key: 'live/a' })).kvs[0]?.lease, lease.id)
  const watch = await client.watch({ prefix: 'live/' }, { from: revision + 1 })
  await client.leases.revoke(lease.id)
  test.match(await errorOf(client.leases.revoke(lease.id)), { kind: 'refused', facts: { code: 5 } })
  test.match(await errorOf(client.put('a', 'a', { lease: lease.id })), { kind: 'refused', facts: { code: 5 } })
  // One lease ends on its own, together with its keys.
  await client.put('live/left', 'b', { lease: (await client.leases.grant(10)).id })
  const events = await take(watch, 3)
  test.same(
    events.map((event) => shown(event).replace(/ \d+$/, '')),
    ['delete live/a=', 'put live/left=b', 'delete live/left='],
  )
})

t.test('a watch', { skip }, async (test) => {
  const { client } = await started(test, 3, { progressEvery_s: 1 })
  const first = await client.put('w/a', '1')
  await client.put('other', '1')
  await client.transact({ success: [{ put: 'w/b', value: '2' }, { delete: { key: 'w/a' } }] })
  const watch = await client.watch({ prefix: 'w/' }, { from: first })
  test.equal(watch.revision, first + 2)
  const past = await take(watch, 3)
  test.same(past.map(shown), [`put w/a=1 ${first}`, `put w/b=2 ${first + 2}`, `delete w/a= ${first + 2}`])
  const now = await client.watch({ key: 'w/c' })
  await client.put('w/b', 'not this one')
  const put = await client.put('w/c', '3')
  test.same((await take(now, 1)).map(shown), [`put w/c=3 ${put}`])
  // Without changes, it reports up to which revision that is known.
  const idle = await client.watch({ prefix: 'idle/' })
  for await (const report of idle) {
    test.same(report, { kind: 'progress', revision: put })
    break
  }
  // Old revisions are gone.
  await client.compact(first + 1)
  const late = await client.watch({ prefix: 'w/' }, { from: first })
  test.match(await errorOf(take(late, 1)), { kind: 'compacted', facts: { compactRevision: first + 1 } })
  const fine = await client.watch({ prefix: 'w/' }, { from: first + 2 })
  test.same((await take(fine, 2)).slice(0, 2).map(shown), past.slice(1).map(shown))
})

t.test('large answers', { skip }, async (test) => {
  const { client } = await started(test, 1)
  const value = Buffer.alloc(MEBIBYTE, 'ä')
  const first = await client.put('large/0', value)
  for (let index = 1; index < 12; index += 1) await client.put(`large/${index}`, value)
  // Two keys of one revision arrive together, although etcd sends them in fragments.
  const half = value.subarray(0, MEBIBYTE / 2)
  const both = await client.transact({
    success: [
      { put: 'large/x', value: half },
      { put: 'large/y', value: half },
    ],
  })
  const all = await client.range({ prefix: 'large/' })
  test.ok(all.kvs.length === 14 && all.kvs.slice(0, 12).every((kv) => value.equals(kv.value)))
  const watch = await client.watch({ prefix: 'large/' }, { from: first })
  const reports: number[] = []
  for await (const report of watch) {
    if (report.kind === 'events') reports.push(report.events.length)
    if (report.revision === both.revision) break
  }
  test.equal(
    reports.reduce((sum, count) => sum + count, 0),
    14,
  )
  test.ok(reports.length > 1, `in pieces: ${reports.join(' ')}`)
})

t.test('an untrusted client is refused', { skip }, async (test) => {
  const { cluster, client } = await started(test, 1)
  await client.put('a', 'a')
  const stranger = await (await TestCa.make('stranger')).issue('stranger')
  const peer = await cluster.peerCa.issue('peer')
  const { credentials } = cluster
  const member = cluster.member(0)
  const { serial, ...revoked } = await cluster.clientCa.issue('removed')
  const before = cluster.client(0, { credentials: revoked })
  test.equal(await before.put('a', 'b'), 3)
  await cluster.revoke(member, [serial])
  // Only connecting clients are checked.
  test.equal(await before.put('a', 'b'), 4)
  for (const [why, shownBy] of [
    ['a certificate of another authority', { ...credentials, certificate: stranger.certificate, key: stranger.key }],
    ['a certificate of the peers', { ...credentials, certificate: peer.certificate, key: peer.key }],
    ['no certificate', { ...credentials, certificate: '', key: '' }],
    ['a certificate that is revoked', revoked],
    ['a member of another authority', { ...credentials, ca: stranger.ca }],
  ] as const) {
    // The alert may be lost after a reset, and etcd sends no other explanation for a revoked certificate.
    const { kind } = await errorOf(cluster.client(0, { credentials: shownBy }).put('a', 'c'))
    test.match(kind, /^(untrusted|unknown-outcome)$/, why)
  }
  test.equal(text((await client.range({ key: 'a' })).kvs[0]?.value), 'b', 'nothing of it was executed')
  const other = await cluster.clientCa.issue('not removed')
  test.equal(await cluster.client(0, { credentials: other }).put('a', 'd'), 5)
})

t.test('a certificate is renewed without a restart', { skip }, async (test) => {
  const { cluster } = await started(test, 1)
  const member = cluster.member(0)
  const { hostname: host, port } = new URL(member.url)
  const { ca, certificate: cert, key } = cluster.credentials
  const shownName = async () => {
    const socket = connect({ host, port: Number(port), ca, cert, key, minVersion: 'TLSv1.3' })
    await once(socket, 'secureConnect')
    const { subject } = socket.getPeerCertificate()
    socket.destroy()
    return subject.CN
  }
  test.equal(await shownName(), 'm1-client')
  const renewed = await cluster.clientCa.issue('renewed', [host, '127.0.0.1'])
  writeFileSync(member.settings.client.certificateFile, renewed.certificate)
  writeFileSync(member.settings.client.keyFile, renewed.key)
  test.equal(await shownName(), 'renewed')
  await cluster.client().put('a', 'a')
})

t.test('members come and go', { skip }, async (test) => {
  const { cluster, client } = await started(test, 2)
  await client.put('a', 'a')
  const third = await cluster.prepare('m3')
  // A new cluster refuses changes for some seconds.
  const { id } = await until('a learner is added', async () => {
    const error = await client.members.add([third.peerUrl], { isLearner: true }).catch((reason: unknown) => reason)
    if (error instanceof Error && /unhealthy|not enough started/.test(error.message)) return undefined
    if (error instanceof Error) throw error
    return (await client.members.list()).find(({ peerUrls }) => peerUrls.includes(third.peerUrl))
  })
  test.match(await errorOf(client.members.promote(id)), { kind: 'refused', facts: { code: 9 } })
  await third.start()
  const learner = await cluster.alone(third, async (own) => {
    const serializable = async () => await own.range({ key: 'a' }, { isSerializable: true })
    await until('the learner answers', async () => (await serializable().catch(() => undefined))?.kvs[0])
    return await errorOf(own.put('a', 'b'))
  })
  test.match(learner, { kind: 'unreachable', message: 'it is a learner, which answers no requests yet' })
  await until('it is promoted', async () => {
    const error = await client.members.promote(id).catch((reason: unknown) => reason)
    if (error instanceof Error && /in sync|unhealthy/.test(error.message)) return undefined
    if (error instanceof Error) throw error
    return true
  })
  await cluster.healthy(third)
  const members = await client.members.list()
  test.match(
    members.find((member) => member.id === id),
    { name: 'm3', isLearner: false, clientUrls: [third.url] },
  )
  test.match(await errorOf(client.members.remove('12345')), { kind: 'refused', facts: { code: 5 } })
  // A peer URL that leads nowhere: the other two continue.
  await client.members.update(id, ['https://127.0.0.1:1'])
  test.match((await client.members.list()).find((member) => member.id === id)?.peerUrls, ['https://127.0.0.1:1'])
  await until('it is removed', async () => {
    const error = await client.members.remove(id).catch((reason: unknown) => reason)
    if (error instanceof Error && /unhealthy/.test(error.message)) return undefined
    if (error instanceof Error) throw error
    return true
  })
  test.equal((await client.members.list()).length, 2)
  await client.put('a', 'c')
})

t.test('maintenance', { skip }, async (test) => {
  const {
    cluster,
    client,
    programs: { etcdutl },
  } = await started(test, 3)
  for (let index = 0; index < 50; index += 1) await client.put(`m/${index}`, Buffer.alloc(10_000, index))
  const revision = await client.delete({ prefix: 'm/' }).then(async () => (await client.range({ key: 'a' })).revision)
  await client.compact(revision, { isPhysical: true })
  const leader = await cluster.leader()
  for (const member of cluster.members) {
    const at = member.url
    await until(`${member.name} has all`, async () => {
      return (await client.maintenance.status({ at })).revision === revision
    })
    const before = await client.maintenance.status({ at })
    test.match(before, { version: /^3\.5\./, isLearner: false, errors: [] })
    await client.maintenance.defragment({ at })
    const after = await client.maintenance.status({ at })
    test.ok(after.dbSize < before.dbSize, `${before.dbSize} -> ${after.dbSize}`)
  }
  // A member may know of the compaction a moment later.
  await until('one hash', async () => {
    const hashes = await Promise.all(
      cluster.members.map(async ({ url }) => await client.maintenance.hash({ at: url, revision })),
    )
    return new Set(hashes.map(({ hash }) => hash)).size === 1
  })
  test.same(await client.maintenance.alarms(), [])
  const pieces: Uint8Array[] = []
  const bytes = await client.maintenance.snapshot((piece) => void pieces.push(piece))
  const file = join(temporaryFolder(test, 'snapshot'), 'snapshot.db')
  writeFileSync(file, Buffer.concat(pieces))
  const { stdout } = await finished(etcdutl, ['snapshot', 'status', file, '-w', 'json'])
  test.match(JSON.parse(stdout), { revision, totalSize: bytes - 32 })
  const next = cluster.members.find((member) => member !== leader)
  if (next === undefined) throw new Error('nobody to lead')
  const { memberId } = await client.maintenance.status({ at: next.url })
  await client.maintenance.moveLeader(memberId)
  test.equal((await cluster.leader(next)).name, next.name)
  test.match(await errorOf(client.maintenance.moveLeader('12345')), { kind: 'refused', facts: { code: 9 } })
})

t.test('no space left, and space freed', { skip }, async (test) => {
  const { cluster, client } = await started(test, 3, { overrides: [`--quota-backend-bytes=${4 * MEBIBYTE}`] })
  const full = await errorOf(
    (async () => {
      for (;;) await client.put('large', Buffer.alloc(MEBIBYTE))
    })(),
  )
  test.match(full, { kind: 'no-space', facts: { code: 8 } })
  // Each member that notices raises an alarm, a moment later.
  const alarms = await until('an alarm', async () => {
    const all = await client.maintenance.alarms()
    return all.length > 0 ? all : undefined
  })
  test.match(alarms[0], { kind: 'NOSPACE' })
  const urls = () => cluster.members.map(({ url }) => url)
  await until('no alarm', async () => {
    const space = new EtcdSpace({ etcd: client, urls, clock: systemClock, log: silentLog })
    // One of them is the node whose member leads.
    for (const at of urls()) await space.look(await client.maintenance.status({ at }))
    return (await client.maintenance.alarms()).length === 0
  })
  await client.put('small', 'a')
})
