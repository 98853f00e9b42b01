import t from 'tap'
import { verifyAddresses } from '../../../src/config/address-rules.ts'
import { frontend } from '../../config-fixture.ts'
import { viewOf } from '../../view-fixture.ts'

const address = (ip: string) => ({ id: ip, nodeId: 'n', groupId: 'g', ip, externalPingCheck: false })
const listening = { l7Frontends: [frontend('f', null, { ip: '192.0.2.1' })] }

t.test('a static IP that goes while a frontend listens on it is a problem of the frontend', async (test) => {
  const before = viewOf({ ...listening, staticIps: [address('192.0.2.1'), address('192.0.2.2')] })
  const after = viewOf({ ...listening, staticIps: [address('192.0.2.2')] })
  test.match(verifyAddresses(after, before), [{ section: 'l7Frontends', id: 'f', field: 'ip' }])
})

t.test('addresses that stay, that nobody listens on, or that were never ours are no problem', async (test) => {
  const ours = viewOf({ ...listening, staticIps: [address('192.0.2.1')] })
  test.same(verifyAddresses(ours, ours), [])
  test.same(verifyAddresses(viewOf(listening), viewOf(listening)), [])
  test.same(verifyAddresses(viewOf({}), ours), [], 'the frontend goes with it')
})

t.test('an address is the same however it is written', async (test) => {
  const before = viewOf({
    l7Frontends: [frontend('f', null, { ip: '2001:DB8:0::1' })],
    staticIps: [address('2001:db8::1')],
  })
  const after = viewOf({ l7Frontends: [frontend('f', null, { ip: '2001:DB8:0::1' })] })
  test.equal(verifyAddresses(after, before).length, 1)
})
