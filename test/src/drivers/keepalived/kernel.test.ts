import t from 'tap'
import { kernelValues } from '../../../../src/drivers/keepalived/kernel.ts'
import { servedFrontends } from '../../../../src/drivers/keepalived/services.ts'
import { l4Backend, l4Frontend, realServer } from '../../../fixtures/config.ts'
import { viewOf } from '../../../fixtures/view.ts'

const keys = (more: Parameters<typeof l4Frontend>[2]) => [
  ...kernelValues(
    servedFrontends(
      viewOf({
        realServers: [realServer('r')],
        l4Backends: [l4Backend('be', ['r'])],
        l4Frontends: [l4Frontend('fe', 'be', more)],
      }),
    ),
  ).keys(),
]
const ALWAYS = ['net.ipv4.vs.expire_quiescent_template', 'net.ipv4.vs.expire_nodest_conn']

t.test('packets are forwarded for address translation only, of the family that needs it', (test) => {
  test.same(keys({ forwarding: 'gate' }), ALWAYS)
  test.same(keys({ forwarding: 'ipip' }), ALWAYS)
  test.same(keys({}), [...ALWAYS, 'net.ipv4.ip_forward'])
  test.same(keys({ ip: 'fd00::10' }), [...ALWAYS, 'net.ipv6.conf.all.forwarding'])
  test.end()
})
