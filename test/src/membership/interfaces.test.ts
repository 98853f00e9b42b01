import t from 'tap'
import { createInterfaces, INTERFACES } from '../../../src/membership/interfaces.ts'
import { Members } from '../../../src/membership/members.ts'
import { openStore } from '../../fixtures/config.ts'
import { peersThatAnswer } from '../../fixtures/questions.ts'

const named = (name: string) => ({ id: `id of ${name}`, name, mac: '', mtu: 1500, state: 'up' as const, addresses: [] })

t.test("a node's own interfaces, those of a reachable node, and none of an unreachable one", async (t) => {
  const members = new Members(openStore(t).members)
  for (const id of ['a', 'b', 'c']) await members.add(() => ({ id, name: id, since: id }) as never)
  const { forward } = peersThatAnswer({ [INTERFACES]: async () => [named('eth1')] })
  const interfaces = createInterfaces({
    nodeId: 'a',
    membership: {
      members,
      forward: (request) => (request.nodeId === 'b' ? forward(request) : Promise.reject(new Error('unreachable'))),
    },
    facts: { interfaces: async () => [named('eth0')] },
  })
  t.same(interfaces.nodeIds(), ['a', 'b', 'c'])
  t.same(await interfaces.of('a'), [named('eth0')])
  t.same(await interfaces.of('b'), [named('eth1')])
  t.equal(await interfaces.of('c'), undefined)
})

t.test('a node without a cluster has only its own', async (t) => {
  const membership = { members: new Members(openStore(t).members), forward: () => Promise.reject(new Error('none')) }
  const interfaces = createInterfaces({ nodeId: 'a', membership, facts: { interfaces: async () => [] } })
  t.same(interfaces.nodeIds(), ['a'])
})
