import t, { type Test } from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import { FORCED_NEW } from '../../../src/etcd/member.ts'
import { EtcdError } from '../../../src/etcd/errors.ts'
import { ClusterFiles, type OwnMembership } from '../../../src/membership/cluster-files.ts'
import { EtcdService } from '../../../src/membership/etcd-service.ts'
import { Members } from '../../../src/membership/members.ts'
import { Takeovers } from '../../../src/membership/takeovers.ts'
import { clusterKeys, MemoryCluster } from '../../fixtures/cluster-in-memory.ts'
import { refuses } from '../../fixtures/config.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const ASKED = { by: 'somebody', reason: 'its disk is broken' } as const
const PLACE = { host: '192.0.2.1', port: 9444 } as const
const NOTHING_REVOKED = { serials: [], authorities: [1], lists: { peer: '', client: '' }, ofClients: [] }

/** The node `a` of two, whose etcd makes itself a single-member cluster on request. */
async function nodeOfTwo(test: Test, { level = 2 } = {}) {
  const cluster = await MemoryCluster.form(test)
  const node = await cluster.node('a')
  const members = new Members(node.store.members)
  if (level > 1) await node.store.write({ op: 'level', level })
  await members.add(() => ({ id: 'b', name: 'right', since: '' }) as never)
  const files = new ClusterFiles(temporaryFolder(test, 'state'))
  const pem = { key: '', certificate: '', ca: '' }
  const own: OwnMembership = {
    clusterId: 'c',
    name: 'site',
    nodeId: 'a',
    epoch: 1,
    keys: clusterKeys().stored(),
    ...PLACE,
  }
  await files.prepare({ peer: pem, client: pem }, NOTHING_REVOKED, ['--name=a'])
  await files.commit(own)
  /** The starts of etcd, and its members. */
  const etcd = { voters: ['a', 'b'], starts: [] as boolean[], breaks: false, isSilent: false }
  const ok = { ok: true, done: 1, recorded: 0, warnings: [] } as const
  const execute = async () => {
    etcd.starts.push(files.hasArgument(FORCED_NEW))
    if (etcd.breaks) return { ok: false, output: 'no room' } as never
    if (files.hasArgument(FORCED_NEW)) etcd.voters = ['a']
    return ok
  }
  const service = new EtcdService({ execute, check: execute }, files)
  const list = async () => {
    if (etcd.isSilent) throw new EtcdError('unreachable', 'it is being started')
    return etcd.voters.map((name) => ({ id: name, name, peerUrls: [], clientUrls: [], isLearner: false }))
  }
  const made = () =>
    new Takeovers({
      own,
      etcd: Object.assign(node.etcd, { members: { list } }),
      log: node.log,
      members,
      files,
      service,
      clock: manualClock(),
      messages: silentLog,
    })
  return { cluster, node, members, files, etcd, made, own }
}

t.test('a takeover is the first entry of another history, and etcd is forced once', async (t) => {
  const { node, members, files, etcd, made, cluster } = await nodeOfTwo(t)
  await made().takeOver(ASKED)
  t.match(members.takeovers(), [{ epoch: 2, nodeId: 'a', since: 2, ...ASKED }])
  t.equal(members.epoch, 2)
  t.same(etcd.starts, [true])
  t.notOk(files.hasArgument(FORCED_NEW), 'the next start is an ordinary one')
  t.match(files.read(), { epoch: 2, takingOver: undefined })
  const [guard] = (await cluster.stranger.range({ key: '/f/seq' })).kvs
  t.equal(Buffer.from(guard?.value ?? []).toString(), `2:${members.takeovers()[0]?.id} 3`)
  await node.store.write({ op: 'level', level: 2 })
  t.equal(node.log.position, 4, 'later entries are compared with the new history')
})

t.test('while it lasts nothing else is written', async (t) => {
  const { files, made, own } = await nodeOfTwo(t)
  await files.commit({ ...own, takingOver: { id: 'x', epoch: 2, at: 'now', ...ASKED } })
  const takeovers = made()
  t.ok(takeovers.isUnderWay)
  t.throws(() => takeovers.admit({ op: 'stage' }), { code: 'NO_QUORUM' })
  t.doesNotThrow(() => takeovers.admit({ op: 'takeover' }))
})

t.test('an etcd that does not start leaves everything as it was', async (t) => {
  const { node, members, files, etcd, made } = await nodeOfTwo(t)
  etcd.breaks = true
  const takeovers = made()
  await refuses(t, 'NOT_SUPPORTED', takeovers.takeOver(ASKED))
  t.same([members.epoch, node.log.position, takeovers.isUnderWay], [1, 2, false])
  t.match(files.read(), { epoch: 1, takingOver: undefined })
  t.notOk(files.hasArgument(FORCED_NEW))
})

t.test('a crash before etcd was forced drops it, one afterwards is resumed', async (t) => {
  const { members, files, etcd, made, own } = await nodeOfTwo(t)
  const takingOver = { id: 'x', epoch: 2, at: 'now', ...ASKED }
  await files.commit({ ...own, takingOver })
  await files.keepArguments(['--name=a', FORCED_NEW])
  etcd.isSilent = true
  const first = made()
  await first.look()
  t.ok(first.isUnderWay, 'nothing is known yet')
  t.notOk(files.hasArgument(FORCED_NEW), 'and it is never forced twice')
  etcd.isSilent = false
  await first.look()
  t.same([members.epoch, first.isUnderWay], [1, false], 'its partner is still in etcd')
  await files.commit({ ...own, takingOver })
  etcd.voters = ['a']
  const second = made()
  await second.look()
  t.match(members.takeovers(), [{ id: 'x', epoch: 2 }])
  await files.commit({ ...own, takingOver })
  await made().look()
  t.equal(members.takeovers().length, 1, 'a written one is not written again')
})

t.test('no takeover where etcd counts a third vote, though the log has not announced it yet', async (t) => {
  const { etcd, made, files } = await nodeOfTwo(t)
  etcd.voters.push('w')
  t.match((await refuses(t, 'IN_USE', made().takeOver(ASKED))).message, /a third vote \(w\)/)
  t.same([etcd.starts, files.read()?.takingOver], [[], undefined])
})

t.test('a node whose data differs does not become the one that stays', async (t) => {
  const { node, files, etcd, made } = await nodeOfTwo(t)
  node.log.halt('it differs')
  await refuses(t, 'NO_QUORUM', made().takeOver(ASKED))
  t.same([etcd.starts, files.read()?.takingOver], [[], undefined])
})

t.test('a cluster with a node that does not know takeovers makes none', async (t) => {
  const { etcd, made } = await nodeOfTwo(t, { level: 1 })
  await refuses(t, 'NOT_SUPPORTED', made().takeOver(ASKED))
  t.same(etcd.starts, [])
})
