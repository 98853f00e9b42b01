import t from 'tap'
import { applianceFixture } from '../../fixtures/appliance.ts'

const valueOf = (text: string, name: string) => new RegExp(`^${name}(?:\\{.*\\})? (.+)$`, 'm').exec(text)?.[1]

t.test('metrics of a node', async (test) => {
  const { call, node } = await applianceFixture(test)
  await call('POST', '/ipvsDirector/rips', { body: { name: 'one', ip: '192.0.2.7', port: 80 } })
  const { text } = await call('GET', '/metrics')
  test.match(text, new RegExp(`^fulcrum_node_info\\{node_id="${node}",node="[^"]+",version="[^"]+"\\} 1$`, 'm'))
  test.equal(valueOf(text, 'fulcrum_pending_changes'), '1')
  test.equal(valueOf(text, 'fulcrum_revision'), '1')
  test.equal(valueOf(text, 'fulcrum_haproxy_up'), undefined, 'an unused HAProxy may be missing')
  test.equal(valueOf(text, 'fulcrum_archive_storing'), '1')
  test.ok(Number(valueOf(text, 'fulcrum_archive_size_bytes')) > 0)
  test.ok(Number(valueOf(text, 'fulcrum_daemon_resident_memory_bytes')) > 2 ** 20)
  test.notMatch(text, /^fulcrum_(cluster|layer4|access_log)/m, 'unused parts have no metrics')
})

t.test('a HAProxy that does not answer is 0 where a frontend needs it', async (test) => {
  const { call } = await applianceFixture(test)
  const frontend = { name: 'shop', mode: 'http', ip: '127.0.0.1', ports: '18080' }
  test.equal((await call('POST', '/layer7proxy/frontends', { body: frontend })).status, 201)
  test.equal((await call('PUT', '/services/apply')).status, 200)
  const up = async () => valueOf((await call('GET', '/metrics')).text, 'fulcrum_haproxy_up')
  test.equal(await up(), '0', 'nothing answers on a recording machine')
  const { attention } = (await call('GET', '/overview')).json.data
  test.match(attention, [{ kind: 'haproxy', severity: 'critical' }])
})

t.test('who holds a floating IP is unknown where the network is only recorded', async (test) => {
  const { call } = await applianceFixture(test)
  const group = { name: 'lan', networkIp: '192.0.2.0', networkMask: 24 }
  const { id: groupId } = (await call('POST', '/ipgroups', { body: group })).json.data
  const body = { groupId, ip: '192.0.2.50', enabled: true }
  test.equal((await call('POST', '/fips', { body })).status, 201)
  test.equal((await call('PUT', '/services/apply')).status, 200)
  test.notMatch((await call('GET', '/metrics')).text, 'fulcrum_floating_ip_held', 'no alert that no node holds it')
})
