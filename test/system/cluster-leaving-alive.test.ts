import t from 'tap'
import { begunAnew, type ClusterDaemon, ClusterDaemons } from '../fixtures/cluster-daemons.ts'
import { addRip, allVote, idsOf, removes, ripsOf, seenBy, threeNodes } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/until.ts'

/** Real daemons with a real etcd each. */

const shared = '198.51.100.9'

/** Applies a floating IP that both nodes can have, and one that only the second can, which is returned. */
async function floatingOn(first: ClusterDaemon, second: ClusterDaemon): Promise<string> {
  const { daemon } = first
  const interfaceId = (await daemon.data('GET', `/${daemon.node}/interfaces`))[0].id
  const own = '203.0.113.9'
  for (const [ip, nodes] of [
    [shared, [first, second]],
    [own, [second]],
  ] as const) {
    const assignedInterfaces = nodes.map((node) => ({ nodeId: node.daemon.node, interfaceId }))
    const network = { name: ip, networkIp: ip.replace(/9$/, '0'), networkMask: 24, assignedInterfaces }
    const { id: groupId } = await daemon.data('POST', '/ipgroups', network)
    await daemon.data('POST', '/fips', { ip, groupId })
  }
  await daemon.data('PUT', '/services/apply')
  return own
}

t.test('nodes that run when they are removed', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const { first, second, third } = await threeNodes(daemons)
  await addRip(first, 'ours')

  await t.test('a removed node becomes a single node automatically', async (t) => {
    const route = { name: 'nowhere', type: 'blackhole', destination: '2001:db8:9::/48', metric: 0 }
    await second.daemon.data('POST', `/${second.daemon.node}/routes`, route)
    const own = await floatingOn(first, second)
    t.ok(await removes(first, second))
    await begunAnew(second, 2)
    t.equal(
      await until(
        'its end',
        () => seenBy(second),
        (state) => state === null,
      ),
      null,
    )
    t.same(await ripsOf(second), ['ours'])
    const floating = async ({ daemon }: ClusterDaemon) =>
      ((await daemon.data('GET', '/fips')) as readonly { ip: string; enabled: boolean }[])
        .flatMap(({ ip, enabled }) => (enabled ? [ip] : []))
        .toSorted()
    t.same(await floating(first), [own, shared].toSorted(), 'the others keep the floating IPs')
    t.same(await floating(second), [own], 'and it no longer has those that another node can have')
    t.same((await second.daemon.data('GET', '/services/pending')).count, 0, 'which does not wait for an apply')
    await addRip(second, 'alone')
    await addRip(third, 'without it')
    t.same(
      (await seenBy(first)).nodes.map(({ id }: { id: string }) => id),
      idsOf(first, third),
    )
  })

  await t.test('another node takes the place of a removed one', async (t) => {
    const node = await daemons.start()
    const { daemon } = node
    const [old, own] = [second.daemon.node, daemon.node]
    const token = String((await first.daemon.data('POST', '/cluster/tokens', {})).token)
    const body = { token, address: node.address, as: old }
    const wrong = await daemon.call('POST', '/cluster/join', { body: { ...body, as: own } })
    t.match([wrong.status, wrong.json.errors?.[0].field, wrong.json.errors?.[0].code], [422, 'as', 'NOT_REMOVED'])
    const seen = await daemon.data('POST', '/cluster/join', { ...body, dryRun: true })
    t.match(seen.removed, [{ id: old, name: 'right' }])
    await daemon.data('POST', '/cluster/join', body)
    await begunAnew(node)
    await daemon.login()
    t.match(daemon.node, old)
    const { nodes } = await seenBy(node)
    t.match(nodes[2], { id: old, name: 'right', isSelf: true })
    t.match(await daemon.data('GET', `/${old}/routes`), [{ name: 'nowhere' }], 'with its own records')
    await allVote(first, 3)
    t.ok(await removes(first, node))
    await begunAnew(node, 2)
    t.equal(daemon.node, old, 'it keeps the id')
  })
  return undefined
})
