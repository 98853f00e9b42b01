import t from 'tap'
import { ClusterFiles } from '../../src/membership/cluster-files.ts'
import { type ClusterDaemon, ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import {
  addRip,
  allVote,
  die,
  etcdAt,
  hasQuorum,
  idsOf,
  nodeLeads,
  seenBy,
  seesWitness,
} from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/until.ts'
import { unlessRefused } from '../fixtures/etcd.ts'

/** Two nodes and a witness: each of the three is lost once, and the others continue. */

const witnessToken = async ({ daemon }: ClusterDaemon) =>
  String((await daemon.data('POST', '/cluster/tokens', { role: 'witness' })).token)

t.test('two nodes and a witness', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const [left, right] = [await daemons.start(), await daemons.start()]
  const witness = daemons.witness()
  await form(left, 'left')
  const alone = await left.daemon.call('POST', '/cluster/tokens', { body: { role: 'witness' } })
  t.match(alone, { status: 422, json: { errors: [{ field: 'role' }] } })
  t.equal((await join(right, 'right', left)).status, 200)
  await allVote(left, 2)
  t.match(await seenBy(left), { witness: null, spareVotes: 0 })
  await left.daemon.data('PUT', '/cluster', { preferredNode: left.daemon.node, takeoverAfter: 5 })

  await t.test('the witness joins with a token in a file', async (t) => {
    witness.start()
    await witness.says(/waits for a token/)
    await witness.hand(await witnessToken(left))
    await witness.says(/votes in the cluster site/)
    t.match(await seesWitness(left, true), { nodes: { length: 2 }, spareVotes: 1 })
    await addRip(left, 'plainly-named')
  })

  await t.test('it never counts as a node', async (t) => {
    const { id } = (await seenBy(left)).witness
    const { daemon } = left
    const status = async (method: string, path: string, body?: object) =>
      (await daemon.call(method, path, body === undefined ? {} : { body })).status
    t.equal(await status('GET', `/${id}/interfaces`), 404)
    t.equal(await status('PUT', `/cluster/nodes/${id}`, { name: 'another' }), 404)
    t.equal(await status('PUT', `/cluster/nodes/${id}/maintenance`, { enabled: true }), 404)
    t.equal(await status('PUT', `/${id}/services/apply`), 404)
    const listed = await until(
      'all nodes',
      async () => (await daemon.call('GET', '/audit?node=all&limit=5')).json,
      ({ missing }) => missing.length === 0,
    )
    t.equal(listed.nodes.length, 2)
    t.equal((await daemon.call('GET', '/backup')).json.nodes.length, 2)
    const { nodes } = await daemon.data('PUT', '/services/apply', { comment: 'of two nodes' })
    t.same(nodes.map(({ nodeId }: { nodeId: string }) => nodeId).toSorted(), idsOf(left, right).toSorted())
    t.equal((await daemon.data('GET', '/services/apply')).nodes.length, 2)
  })

  await t.test('one node is killed: the other continues, and no node takes over', async (t) => {
    await die(right)
    await addRip(left, 'without right')
    t.match(await seenBy(left), { epoch: 1, spareVotes: 0 })
    await right.daemon.start()
    await right.daemon.login()
    await allVote(left, 2)
  })

  await t.test('leadership of its etcd goes back to a node', async (t) => {
    const led = await nodeLeads(left)
    const leader = led.nodes[0].isLeader === true ? left : right
    const etcd = etcdAt(t, leader, new ClusterFiles(leader.daemon.state))
    const listed = await etcd.members.list()
    // etcd checks now and then whether the witness leads, and may miss it: then it answers that it does not know.
    const moved = etcd.maintenance.moveLeader(listed.find(({ name }) => name === led.witness.id)?.id ?? '')
    await unlessRefused(moved)
    const back = await nodeLeads(left)
    t.equal(back.witness.isLeader, false)
  })

  await t.test('the witness is killed: the nodes continue, and it comes back', async (t) => {
    await witness.die()
    await seesWitness(left, false)
    await addRip(right, 'without witness')
    t.match(await hasQuorum(right), { spareVotes: 0 })
    const before = witness.stdout.length
    witness.start()
    await witness.says(/votes in the cluster site/, before)
    await seesWitness(left, true)
    await seesWitness(right, true)
  })

  await t.test('with two of three gone no node takes over, whatever a person says', async (t) => {
    await witness.die()
    await die(right)
    await until(
      'no quorum',
      () => seenBy(left),
      ({ quorum }) => quorum === false,
    )
    const asked = { partnerIsOff: 'right', reason: 'its disk is broken', force: true }
    const refused = await left.daemon.call('PUT', '/cluster/takeover', { body: asked })
    t.match(refused, { status: 422, json: { errors: [{ field: 'partnerIsOff', code: 'NOT_A_PAIR' }] } })
    witness.start()
    await until(
      'the end of it',
      () => left.daemon.call('POST', '/ipvsDirector/rips', { body: { name: 'again', ip: '192.0.2.1', port: 80 } }),
      ({ status }) => status === 201,
    )
    t.match(await seenBy(left), { epoch: 1, preferredNode: left.daemon.node })
  })

  return undefined
})
