import t from 'tap'
import { firstVrrpId, instancesOf, placementOf, unmovable } from '../../../../src/drivers/vrrp/instances.ts'
import { desiredNetwork } from '../../../../src/drivers/iproute2/desired.ts'
import type { Records } from '../../../fixtures/view.ts'
import { viewOf } from '../../../fixtures/view.ts'
import { pair, PAIR } from './vrrp-records.ts'

const THREE = [...PAIR, 'node-3']
const placements = (records: Records, nodeIds: readonly string[]) =>
  nodeIds.map((nodeId) =>
    [...(records.floatingIps ?? [])].map((one) => placementOf(viewOf(records), { nodeId, nodeIds }, one)),
  )
const without = (records: Records, nodeId: string): Records => ({
  ...records,
  staticIps: (records.staticIps ?? []).filter((one) => one.nodeId !== nodeId),
})

t.test('a floating IP moves between the nodes that have an interface and an address in its group', async (test) => {
  test.same(placements(pair({}), PAIR), [['moves'], ['moves']])
  test.same(placements(pair({}), THREE), [['moves'], ['moves'], ['elsewhere']])
  test.same(placements(pair({}), ['node']), [['here']], 'a former member does not count')
  test.same(
    placements(pair({ nodes: ['node'] }), PAIR),
    [['here'], ['here']],
    'the second reports that it has no interface',
  )
})

t.test('where only one node could have it, that one does, and the others are told why not', async (test) => {
  const records = without(pair({}), 'node-2')
  test.same(placements(records, PAIR), [['here'], ['elsewhere']])
  test.same(placements(without(records, 'node'), PAIR), [['here'], ['elsewhere']])
  test.same(unmovable(viewOf(records), { nodeId: 'node', nodeIds: PAIR }), [
    'floating IPs of the IP group LAN do not move to the node node-2: it has no static IP of IPv4 in it (POST /node-2/sips)',
  ])
  test.same(unmovable(viewOf(pair({})), { nodeId: 'node', nodeIds: PAIR }), [])
})

t.test('a moving address is none that this node adds itself', async (test) => {
  const addresses = (nodeId: string, nodeIds: readonly string[]) =>
    desiredNetwork(viewOf(pair({})), nodeId, nodeIds).addresses.map(({ ip }) => ip)
  test.same(addresses('node', []), ['10.0.0.5', '10.0.0.100'])
  test.same(addresses('node', PAIR), ['10.0.0.5'])
  test.same(addresses('node-2', PAIR), ['10.0.0.6'])
})

t.test('the first node takes precedence, unless another is preferred', async (test) => {
  const records = pair({ floating: ['10.0.0.100', '10.0.0.101'] })
  const [first, second] = records.floatingIps ?? []
  const preferring = {
    ...records,
    floatingIps: [first, second && { ...second, preferredNode: 'node-2' }].filter((one) => one !== undefined),
  }
  const shown = (nodeId: string) =>
    instancesOf(viewOf(preferring), { nodeId, nodeIds: PAIR }).map(({ name, syncGroup, priority, own, others }) => ({
      name,
      syncGroup,
      priority,
      own: own.ip,
      others: others.map(({ ip }) => ip),
    }))
  const one = { name: 'lan.4.all', syncGroup: 'all' }
  const two = { name: 'lan.4.of-node-2', syncGroup: 'of-node-2' }
  test.same(shown('node'), [
    { ...one, priority: 254, own: '10.0.0.5', others: ['10.0.0.6'] },
    { ...two, priority: 244, own: '10.0.0.5', others: ['10.0.0.6'] },
  ])
  test.same(shown('node-2'), [
    { ...one, priority: 244, own: '10.0.0.6', others: ['10.0.0.5'] },
    { ...two, priority: 254, own: '10.0.0.6', others: ['10.0.0.5'] },
  ])
})

/** Returns the VRRP ids of floating IPs with these preferred nodes, as seen by each node that can have them. */
function idsOf(nodes: readonly string[], nodeIds: readonly string[], preferred: readonly string[]) {
  const records = pair({ nodes, group: { vrrpId: 1 }, floating: preferred.map((_, at) => `10.0.0.${100 + at}`) })
  const floatingIps = (records.floatingIps ?? []).map((one, at) => ({ ...one, preferredNode: preferred[at] ?? '' }))
  const view = viewOf({ ...records, floatingIps })
  const seen = nodes
    .filter((nodeId) => nodeIds.includes(nodeId))
    .map((nodeId) => {
      const of = new Map(instancesOf(view, { nodeId, nodeIds }).map(({ first, vrrpId }) => [first.id, vrrpId]))
      return floatingIps.map(({ id }) => of.get(id))
    })
  return [...new Set(seen.map((ids) => ids.join(' ')))]
}

t.test('preferred nodes have their own VRRP ids, which stay', async (test) => {
  test.same(idsOf(PAIR, PAIR, ['', 'node', 'node-2']), ['1 2 3'])
  test.same(idsOf(PAIR, THREE, ['node', 'node-3']), ['2 4'], 'a node outside of the group')
  const five = Array.from('12345', (digit) => `n${digit}`)
  const group = ['n1', 'gone', 'n2', 'n3', 'n4', 'n5']
  test.same(idsOf(group, five, five), ['2 4 5 6 3'], 'the sixth of the group has the place of a removed one')
  test.same(idsOf(['gone', ...PAIR], PAIR, [...PAIR]), ['3 4'], 'after a removal nothing changes')
})

t.test('every node derives the same VRRP ids, from that of the group or from its id', async (test) => {
  const ids = (group: { readonly vrrpId?: number }) =>
    PAIR.flatMap((nodeId) =>
      instancesOf(viewOf(pair({ group })), { nodeId, nodeIds: PAIR }).map(({ vrrpId }) => vrrpId),
    )
  test.same(ids({ vrrpId: 7 }), [7, 7])
  const [derived, same] = ids({})
  test.equal(derived, same)
  for (let at = 0; at < 200; at += 1) {
    const [lan] = pair({}).ipGroups ?? []
    if (lan === undefined) throw new Error('there is a group')
    const first = firstVrrpId({ ...lan, id: `group-${at}` })
    test.ok(first >= 1 && first <= 250 && (first - 1) % 6 === 0, `${first}`)
  }
})
