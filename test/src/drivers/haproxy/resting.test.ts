import t from 'tap'
import { servedFrontends } from '../../../../src/drivers/haproxy/resting.ts'
import { isResting } from '../../../../src/drivers/resting.ts'
import { frontendStatements } from '../../../../src/drivers/haproxy/frontend.ts'
import { frontend } from '../../../fixtures/config.ts'
import { viewOf } from '../../../fixtures/view.ts'
import { FOLDERS } from './records.ts'

const on = (id: string, ip: string) => frontend(id, null, { ip })
const fip = (ip: string, enabled: boolean) => ({ id: ip.replaceAll(/[:.]/g, '-'), groupId: 'g', ip, enabled })

const view = viewOf({
  l7Frontends: [on('a', '192.0.2.1'), on('b', '192.0.2.2'), on('c', '2001:DB8::0:1'), on('d', '0.0.0.0')],
  floatingIps: [fip('192.0.2.1', false), fip('192.0.2.2', true), fip('2001:db8::1', false)],
})

t.test('a frontend rests while its floating IP is disabled', (test) => {
  test.same(
    [...view.list('l7Frontends')].filter((one) => isResting(one, view)).map(({ id }) => id),
    ['a', 'c'],
  )
  test.same(
    servedFrontends(view).map(({ enabled }) => enabled),
    [false, true, false, true],
  )
  test.match(frontendStatements(on('a', '192.0.2.1'), view, FOLDERS), [{ kind: 'comment', text: /rests/ }])
  test.end()
})
