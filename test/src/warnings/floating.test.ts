import t from 'tap'
import type { IpGroup } from '../../../src/model/network.ts'
import { connectionsEnd } from '../../../src/warnings/floating.ts'
import { l4Frontend } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

const group = (id: string, nodes: readonly string[], connectionSync = false): IpGroup => ({
  id,
  name: id,
  networkIp: '',
  networkMask: 0,
  gateway: '',
  defaultGateway: false,
  assignedInterfaces: nodes.map((nodeId) => ({ nodeId, interfaceId: `${id} ${nodeId}` })),
  connectionSync,
})
const IP = '192.0.2.10'

function warned({ groups = [group('lan', ['a', 'b'])], enabled = true, serves = true, ip = IP } = {}) {
  return connectionsEnd(
    viewOf({
      ipGroups: groups,
      floatingIps: [{ id: 'f', ip: IP, groupId: 'lan', enabled }],
      l4Frontends: [
        l4Frontend('one', 'be', { ip, enabled: serves }),
        l4Frontend('two', 'be', { ip, enabled: serves, ports: '81' }),
      ],
    }),
  )
}

t.test('CONNECTIONS_END: once for each floating IP that moves with Layer 4 connections', async (test) => {
  test.match(warned(), [
    { code: 'CONNECTIONS_END', resource: 'floatingIps', resourceId: 'f', name: IP, message: /connectionSync/ },
  ])
  test.equal(
    warned({ groups: [group('lan', ['a', 'b']), group('link', ['a', 'c'], true)] }).length,
    1,
    'nothing is sent to b',
  )
  test.same(warned({ groups: [group('lan', ['a', 'b']), group('link', ['a', 'b'], true)] }), [])
  test.same(warned({ groups: [group('lan', ['a'])] }), [], 'only one node can have it')
  test.same(warned({ enabled: false }), [])
  test.same(warned({ serves: false }), [])
  test.same(warned({ ip: '192.0.2.11' }), [])
})
