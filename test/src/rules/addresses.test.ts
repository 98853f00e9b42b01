import t from 'tap'
import { verifyAddresses } from '../../../src/rules/addresses.ts'
import { frontend } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'
import { ipGroup } from '../drivers/iproute2/network-records.ts'

const address = (ip: string) => ({ id: ip, nodeId: 'n', groupId: 'g', ip, externalPingCheck: false })
const listening = { l7Frontends: [frontend('f', null, { ip: '192.0.2.1' })] }

t.test('a static IP that is removed while a frontend listens on it is a problem of the frontend', async (test) => {
  const before = viewOf({ ...listening, staticIps: [address('192.0.2.1'), address('192.0.2.2')] })
  const after = viewOf({ ...listening, staticIps: [address('192.0.2.2')] })
  test.match(verifyAddresses(after, before), [{ section: 'l7Frontends', id: 'f', field: 'ip' }])
})

t.test('addresses that stay, are unused, or were never ours are no problem', async (test) => {
  const ours = viewOf({ ...listening, staticIps: [address('192.0.2.1')] })
  test.same(verifyAddresses(ours, ours), [])
  test.same(verifyAddresses(viewOf(listening), viewOf(listening)), [])
  test.same(verifyAddresses(viewOf({}), ours), [], 'the frontend is removed with it')
})

t.test('an address is the same however it is written', async (test) => {
  const before = viewOf({
    l7Frontends: [frontend('f', null, { ip: '2001:DB8:0::1' })],
    staticIps: [address('2001:db8::1')],
  })
  const after = viewOf({ l7Frontends: [frontend('f', null, { ip: '2001:DB8:0::1' })] })
  test.equal(verifyAddresses(after, before).length, 1)
})

const group = (interfaces: readonly string[]) =>
  ipGroup('g', { name: 'lan', assignedInterfaces: interfaces.map((interfaceId) => ({ nodeId: 'n', interfaceId })) })

t.test('an IP group that loses its interface removes no address that a frontend listens on', async (test) => {
  const records = { ...listening, staticIps: [address('192.0.2.1'), address('192.0.2.2')] }
  const made = viewOf({ ...records, ipGroups: [group(['eth0'])] })
  const unmade = viewOf({ ...records, ipGroups: [group([])] })
  test.match(verifyAddresses(unmade, made), [
    { section: 'l7Frontends', id: 'f', field: 'ip', message: /IP group lan no longer has an interface/ },
  ])
  const other = { ...group([]), assignedInterfaces: [{ nodeId: 'other', interfaceId: 'eth0' }] }
  test.equal(verifyAddresses(viewOf({ ...records, ipGroups: [other] }), made).length, 1, 'of another node')
  test.same(verifyAddresses(viewOf({ ...records, ipGroups: [group(['eth1'])] }), made), [], 'to another interface')
  test.same(verifyAddresses(unmade, unmade), [], 'never added')
  test.same(verifyAddresses(made, unmade), [], 'added now')
})

t.test('an IP group that loses its interface removes no address that the API listens on', async (test) => {
  const settings = { id: 'n', apiPort: 9443, ipId: '192.0.2.2', SSLCertificate: '', sshPort: 22, sshEnabled: false }
  const records = { userInterfaces: [settings], staticIps: [address('192.0.2.2')] }
  const made = viewOf({ ...records, ipGroups: [group(['eth0'])] })
  const unmade = { ...records, ipGroups: [group([])] }
  test.match(verifyAddresses(viewOf(unmade), made), [
    { section: 'userInterfaces', id: 'n', field: 'ipId', message: /192.0.2.2/ },
  ])
  test.same(verifyAddresses(viewOf({ ...unmade, userInterfaces: [{ ...settings, ipId: '' }] }), made), [], 'no longer')
})

t.test('an address that moves to an IP group without an interface is removed', async (test) => {
  const loose = { ...group([]), id: 'h', name: 'loose' }
  const ipGroups = [group(['eth0']), loose]
  const before = viewOf({ ...listening, ipGroups, staticIps: [address('192.0.2.1')] })
  const after = viewOf({ ...listening, ipGroups, staticIps: [{ ...address('192.0.2.1'), groupId: 'h' }] })
  test.match(verifyAddresses(after, before), [{ message: /IP group loose no longer has an interface/ }])
})

t.test('a floating IP may be disabled under a frontend, but not removed', async (test) => {
  const floating = (enabled: boolean) => [{ id: '1', groupId: 'g', ip: '192.0.2.1', enabled }]
  const before = viewOf({ ...listening, floatingIps: floating(true) })
  test.same(verifyAddresses(viewOf({ ...listening, floatingIps: floating(false) }), before), [])
  test.match(verifyAddresses(viewOf(listening), before), [
    { section: 'l7Frontends', message: /192.0.2.1 would be removed/ },
  ])
  const moved = viewOf({ ...listening, staticIps: [address('192.0.2.1')] })
  test.same(verifyAddresses(moved, before), [], 'to a static IP')
  test.same(verifyAddresses(before, moved), [], 'and back')
})
