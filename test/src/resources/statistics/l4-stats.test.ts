import t from 'tap'
import { sharedAppliance } from '../../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

t.test('the figures of running; on a machine without IPVS they are null, and the message says why', async (t) => {
  const { call } = await borrow()
  const ripId = (await call('POST', '/ipvsDirector/rips', { body: { name: 'r', ip: '192.0.2.1', port: 80 } })).json.data
    .id
  const backendId = (await call('POST', '/ipvsDirector/backends', { body: { name: 'b', reals: [{ ripId }] } })).json
    .data.id
  const body = { name: 'f', ip: '192.0.2.50', ports: '80-90', protocol: 'tcp', forwarding: 'masq', backendId }
  const id = (await call('POST', '/ipvsDirector/frontends', { body })).json.data.id
  t.strictSame((await call('GET', '/ipvsDirector/stats')).json.data, { frontends: [], backends: [], reals: [] })
  await call('PUT', '/services/apply')
  const all = await call('GET', '/ipvsDirector/stats')
  t.equal(all.status, 200)
  t.match(all.json.message, /The kernel's balancing table has not been read/)
  t.match(all.json.data.frontends, [{ id, name: 'f', ip: '192.0.2.50', ports: '80-90', connections: null }])
  t.match(all.json.data.backends, [{ id: backendId, realsTotal: 1, realsUp: null }])
  t.match(all.json.data.reals, [{ id: ripId, backendId, backendName: 'b', state: 'online', health: 'unknown' }])
  const again = await call('GET', `/ipvsDirector/stats/rips/${ripId}`)
  t.match(again.json.data, [{ id: ripId, bytesInPerSecond: null, weight: null }])
  t.ok(again.headers['ETag'])
  t.match((await call('GET', '/ipvsDirector/stats/backends/nonesuch')).json, { code: 'NOT_FOUND' })
})
