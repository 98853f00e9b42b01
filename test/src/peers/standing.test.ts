import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t, { type Test } from 'tap'
import { askStanding, type Standing } from '../../../src/peers/standing.ts'
import { TestCluster, testNode } from '../../fixtures/peers.ts'

const REMOVED: Standing = { removedAt: '2026-01-01T00:00:00.000Z', isLeaving: false, isOut: true }

/** `lb2` listens, and has locked `lb1` out. */
async function begun(test: Test) {
  const cluster = await TestCluster.make()
  const { lb1, lb2 } = cluster
  cluster.members.delete(lb1.pin)
  const handle = () => ({ status: 200, headers: {} })
  const standingOf = (pin: string) => (pin === lb1.pin ? REMOVED : undefined)
  const { port } = await cluster.serve(test, handle, { standingOf })
  const at = { host: '127.0.0.1', port }
  return { cluster, at, asked: { at, nodeId: 'lb2', pin: lb2.pin, credentials: lb1.credentials } }
}

t.test('a removed node is told so, with the certificate that is refused elsewhere', async (t) => {
  const { asked, cluster, at } = await begun(t)
  t.same(await askStanding(asked), REMOVED)
  const stranger = await testNode(cluster.authority, 'lb3')
  t.equal(await askStanding({ ...asked, credentials: stranger.credentials }), undefined, 'about its own key only')
  const { port } = await cluster.serve(t, () => ({ status: 200, headers: {} }))
  t.equal(await askStanding({ ...asked, at: { ...at, port } }), undefined, 'where no node can be asked')
})

t.test('only the asked node is trusted', async (t) => {
  const { asked, cluster } = await begun(t)
  t.equal(await askStanding({ ...asked, nodeId: 'lb3' }), undefined)
  t.equal(await askStanding({ ...asked, pin: cluster.lb1.pin }), undefined)
  const other = await TestCluster.make()
  const { port } = await other.serve(t, () => ({ status: 200, headers: {} }), { standingOf: () => REMOVED })
  t.equal(await askStanding({ ...asked, at: { host: '127.0.0.1', port } }), undefined)
})

t.test('others certify nodes meanwhile: the key counts', async (t) => {
  const { asked } = await begun(t)
  const other = await TestCluster.make()
  const standingOf = (pin: string) => (pin === other.lb1.pin ? undefined : REMOVED)
  const { port } = await other.serve(t, () => ({ status: 200, headers: {} }), { standingOf })
  t.same(await askStanding({ ...asked, at: { host: '127.0.0.1', port }, pin: other.lb2.pin }), REMOVED)
})

t.test('the wait for a silent node ends', async (t) => {
  const { asked } = await begun(t)
  const silent = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1')
  t.teardown(() => silent.close())
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  t.equal(await askStanding({ ...asked, at: { host: '127.0.0.1', port } }), undefined)
})
