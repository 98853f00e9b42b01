import t from 'tap'
import { issuersIn } from '../../../src/membership/authorities.ts'
import { nodesFor, trustFor } from '../../../src/membership/witness-orders.ts'
import { twoNodes } from '../../fixtures/witnessed.ts'

t.test('a witness gets addresses and identities of nodes, and certificates of removed ones', async (t) => {
  const { members, etcd, keys, clock } = await twoNodes(t)
  t.same(
    nodesFor(members).map((node) => Object.keys(node)),
    Array.from({ length: 2 }, () => ['id', 'host', 'port', 'pin']),
  )
  const issuers = await issuersIn(etcd, keys, members)
  const at = { members, position: 7, now_ms: clock.now_ms() }
  const { revocation, taken } = await trustFor(at, issuers, { certifiedBy: 1 })
  t.match(revocation, { serials: [], authorities: [1], ofClients: { length: 1 } })
  t.match(taken, { peer: /BEGIN CERTIFICATE/, client: /BEGIN CERTIFICATE/ })
  t.notMatch(JSON.stringify({ revocation, taken }), /PRIVATE/)
})
