import t from 'tap'
import { ClusterFiles } from '../../src/membership/cluster-files.ts'
import { ClusterDaemons } from '../fixtures/cluster-daemons.ts'
import { addRip, etcdAt, ripsOf, seenBy, threeNodes } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/daemon.ts'

/** Real daemons, each with a real etcd beside it. */

t.setTimeout(600_000)

t.test('a node with another name and another address', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const { first, second, third } = await threeNodes(daemons)
  const { node: id } = second.daemon
  const change = (body: object, from = first) => from.daemon.call('PUT', `/cluster/nodes/${id}`, { body })
  const nodeIn = async (from = first) =>
    (await seenBy(from)).nodes.find((node: { readonly id: string }) => node.id === id)

  await t.test('is called so everywhere, whoever was asked', async (t) => {
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

  await t.test('is reached where it is, and votes', async (t) => {
    const address = daemons.address(99)
    const moved = await change({ address })
    t.equal(moved.status, 200, moved.text)
    await until(
      'its address',
      () => nodeIn(),
      (node) => node.address === address,
    )
    // Where it listens itself is said when it starts.
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
        (names) => names.length === 1,
      ),
      ['from there'],
    )
  })

  await t.test('counts for the quorum', async (t) => {
    await third.daemon.kill('SIGTERM')
    await addRip(first, 'with two')
    t.equal((await ripsOf(first)).length, 2)
  })
  return undefined
})
