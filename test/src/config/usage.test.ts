import t from 'tap'
import { usageOf } from '../../../src/config/usage.ts'
import { backend, frontend, realServer } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

t.test('usage names the records that refer to a record, and the field', async (test) => {
  const view = viewOf({
    realServers: [realServer('a'), realServer('b')],
    l7Backends: [backend('be', ['b', 'a'])],
    staticIps: [{ id: 's', nodeId: 'n', groupId: 'g', ip: '192.0.2.9', externalPingCheck: false }],
    l7Frontends: [frontend('fe', 'be', { ip: '192.0.2.9' })],
  })
  test.same(usageOf(view, 'realServers', 'a'), [
    { resource: 'l7Backends', id: 'be', name: 'be', field: 'reals.1.ripId' },
  ])
  test.same(usageOf(view, 'l7Frontends', 'fe'), [])
  test.match(usageOf(view, 'staticIps', 's'), [{ resource: 'l7Frontends', field: 'ip' }], 'by its address')
})
