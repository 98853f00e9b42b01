import t from 'tap'
import { NodeApi } from '../../../../src/daemon/nodes/node-api.ts'
import type { NodePlace } from '../../../../src/daemon/nodes/places.ts'
import { ADMIN, startIn } from '../../../fixtures/appliance.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'
import { freePort } from '../../../fixtures/traffic.ts'

t.test('calls a node like any client, and does not confuse it with another', async (t) => {
  const state = temporaryFolder(t, 'node')
  const listen = { host: '127.0.0.3', port: await freePort() }
  const { appliance } = await startIn(t, { state, more: { listen } })
  await appliance.listen()
  const place: NodePlace = { number: 2, state, listen, http: undefined, metrics: undefined, peer: listen }
  const api = new NodeApi(place)
  await t.rejects(api.get('/cluster'), /node 2 refused GET \/cluster: /)
  await t.rejects(api.login(ADMIN.email, 'wrong'), /node 2 refused POST \/token: /)
  await api.login(ADMIN.email, ADMIN.password)
  t.equal(await api.get('/cluster'), null)
  await t.rejects(
    api.post('/cluster/tokens', {}),
    /node 2 refused POST \/cluster\/tokens: This node is not in a cluster/,
  )
  const other = new NodeApi({ ...place, listen: { ...listen, port: await freePort() } })
  await t.rejects(other.get('/ping'), /node 2 cannot be asked: .*ECONNREFUSED/)
})
