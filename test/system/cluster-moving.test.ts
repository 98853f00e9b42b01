import t from 'tap'
import { ClusterFiles } from '../../src/membership/cluster-files.ts'
import { ClusterDaemons } from '../fixtures/cluster-daemons.ts'
import { addRip, allVote, asked, die, etcdAt, ripsOf, seenBy, threeNodes } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/until.ts'

/** Real daemons with a real etcd each. */

t.test('a node with another name and another address', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const { first, second, third } = await threeNodes(daemons)
  const { node: id } = second.daemon
  const change = (body: object, from = first) => from.daemon.call('PUT', `/cluster/nodes/${id}`, { body })
  const nodeIn = async (from = first) =>
    (await seenBy(from)).nodes.find((node: { readonly id: string }) => node.id === id)

  await t.test('is shown by every node, whichever is asked', async (t) => {
    const renamed = await change({ name: 'new' })
    t.equal(renamed.status, 200, renamed.text)
    for (const node of [first, second, third])
      await until(
        'its name',
        () => nodeIn(node),
        ({ name }) => name === 'new',
      )
    const taken = await change({ name: 'THIRD' })
    t.match([taken.status, taken.json.code], [409, 'NAME_NOT_UNIQUE'])
    const neighbour = await change({ address: third.address })
    t.match([neighbour.status, neighbour.json.code], [409, 'IN_USE'])
    const away = await change({ address: '192.0.2.1:9444' })
    t.match([away.status, away.json.errors[0].field, away.json.errors[0].code], [422, 'address', 'ADDRESS_NOT_HERE'])
    const unknown = await first.daemon.call('PUT', '/cluster/nodes/nobody', { body: { name: 'x' } })
    t.match([unknown.status, unknown.json.code], [404, 'NOT_FOUND'])
    t.match(await nodeIn(), { name: 'new', address: second.address })
  })

  await t.test('is in maintenance, and does not lead meanwhile', async (t) => {
    const leading = async () =>
      (await seenBy(first)).nodes.find(({ isLeader }: { readonly isLeader: boolean }) => isLeader)
    const maintain = (nodeId: string, body: object) =>
      first.daemon.call('PUT', `/cluster/nodes/${nodeId}/maintenance`, { body })
    const { id: leader } = await until('a leader', leading, (node) => node !== undefined)
    const begun = await maintain(leader, { enabled: true, reason: 'a new fan' })
    t.equal(begun.status, 200, begun.text)
    const next = await until('another leader', leading, (node) => node !== undefined && node.id !== leader)
    t.equal(next.maintenance, null)
    const seen = async () => (await seenBy(third)).nodes.find((node: { readonly id: string }) => node.id === leader)
    const { maintenance } = await until('word of it', seen, (node) => node.maintenance !== null)
    t.match(maintenance, { by: 'admin@localhost', reason: 'a new fan', since: /^\d{4}-/ })
    await addRip(second, 'meanwhile')
    t.equal((await maintain(leader, { enabled: false })).status, 200)
    t.notOk((await seenBy(first)).nodes.some((node: { readonly maintenance: unknown }) => node.maintenance !== null))
    t.match((await maintain('nobody', { enabled: true })).json, { code: 'NOT_FOUND' })
    t.match((await maintain(leader, { enabled: 1 })).json, { code: 'INVALID_BODY', errors: [{ field: 'enabled' }] })
  })

  await t.test('is reached at its new address, and votes', async (t) => {
    const address = daemons.address(99)
    const moved = await change({ address })
    t.equal(moved.status, 200, moved.text)
    await until(
      'its address',
      () => nodeIn(),
      (node) => node.address === address,
    )
    // Its own listening address is set at its start.
    await second.daemon.kill('SIGTERM')
    const again = await daemons.again(second, address)
    for (const node of [first, again, third])
      await until(
        'sight of all',
        () => seenBy(node),
        ({ nodes }) =>
          nodes.every(
            ({ state, isVoter }: { readonly state: string; readonly isVoter: boolean }) =>
              state === 'online' && isVoter,
          ),
      )
    const members = await etcdAt(t, first, new ClusterFiles(first.daemon.state)).members.list()
    const [host] = address.split(':')
    t.match(
      members.find(({ name }) => name === id),
      { peerUrls: [`https://${host}:9446`], clientUrls: [`https://${host}:9445`] },
    )
    await addRip(again, 'from there')
    t.same(
      await until(
        'the entry',
        () => ripsOf(first),
        (names) => names.length === 2,
      ),
      ['from there', 'meanwhile'],
    )
  })

  await t.test('counts for the quorum', async (t) => {
    await third.daemon.kill('SIGTERM')
    await addRip(first, 'with two')
    t.equal((await ripsOf(first)).length, 3)
  })

  await t.test('gets a new etcd member for one that no node knows, and its vote', async (t) => {
    const { daemon } = third
    await die(third)
    const { members } = etcdAt(t, first, new ClusterFiles(first.daemon.state))
    const old = (await members.list()).find(({ name }) => name === daemon.node)!
    await asked(() => members.remove(old.id))
    // Another node has its address by now, as for a newcomer whose etcd asked one that was only just reading.
    const lost = await asked(() => members.add(old.peerUrls, { isLearner: true }))
    await daemon.start()
    await allVote(first, 3)
    const found = (await members.list()).filter(({ peerUrls }) => peerUrls.join() === old.peerUrls.join())
    t.match(found, [{ name: daemon.node, isLearner: false }])
    t.notOk([old.id, lost.id].includes(found[0]?.id ?? ''))
    t.match(daemon.stderr, /does not start, and is replaced/)
    await daemon.login()
    await addRip(third, 'after it')
    await until(
      'the entry',
      () => ripsOf(first),
      (names) => names.length === 4,
    )
  })
  return undefined
})
