import t from 'tap'
import { applianceFixture } from '../../fixtures/appliance.ts'

const valueOf = (text: string, name: string) => new RegExp(`^${name}(?:\\{.*\\})? (.+)$`, 'm').exec(text)?.[1]

t.test('what a node tells of itself', async (test) => {
  const { call, node } = await applianceFixture(test)
  await call('POST', '/ipvsDirector/rips', { body: { name: 'one', ip: '192.0.2.7', port: 80 } })
  const { text } = await call('GET', '/metrics')
  test.match(text, new RegExp(`^fulcrum_node_info\\{node_id="${node}",node="[^"]+",version="[^"]+"\\} 1$`, 'm'))
  test.equal(valueOf(text, 'fulcrum_pending_changes'), '1')
  test.equal(valueOf(text, 'fulcrum_revision'), '1')
  test.equal(valueOf(text, 'fulcrum_haproxy_up'), '0', 'nothing answers on a recording machine')
  test.equal(valueOf(text, 'fulcrum_archive_storing'), '1')
  test.ok(Number(valueOf(text, 'fulcrum_archive_size_bytes')) > 0)
  test.ok(Number(valueOf(text, 'fulcrum_daemon_resident_memory_bytes')) > 2 ** 20)
  test.notMatch(text, /^fulcrum_(cluster|layer4|access_log)/m, 'of what there is none')
})
