import t from 'tap'
import { isResting } from '../../../src/drivers/resting.ts'
import { viewOf } from '../../fixtures/view.ts'

const view = viewOf({ floatingIps: [{ id: 'f', groupId: 'g', ip: '2001:db8::1', enabled: false }] })

t.test('an address rests while its floating IP is disabled, however it is written', (test) => {
  test.ok(isResting({ ip: '2001:DB8::0:1' }, view))
  test.notOk(isResting({ ip: '2001:db8::2' }, view))
  test.end()
})
