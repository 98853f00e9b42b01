import t from 'tap'
import { desiredNetwork } from '../../../../src/drivers/iproute2/desired.ts'
import { networkChange } from '../../../../src/drivers/iproute2/network-change.ts'
import { type Records, viewOf } from '../../../fixtures/view.ts'
import { ETH0, ETH1, ipGroup, ipRoute, NODE, staticIp } from './network-records.ts'

const change = (running: Records, desired: Records) =>
  networkChange(desiredNetwork(viewOf(running), NODE), desiredNetwork(viewOf(desired), NODE))

const ONE: Records = { ipGroups: [ipGroup('a')], staticIps: [staticIp('1', 'a', '10.0.0.5')] }

t.test('an address that is deleted or moved counts as removed; an unchanged or new one does not', async (test) => {
  test.same(change(ONE, {}), {
    removedAddresses: ['10.0.0.5'],
    routes: [{ destination: '10.0.0.0/24', source: undefined }],
  })
  const moved = { ...ONE, ipGroups: [ipGroup('a', { assignedInterfaces: [{ nodeId: NODE, interfaceId: ETH1 }] })] }
  test.same(change(ONE, moved).removedAddresses, ['10.0.0.5'])
  const wider = { ...ONE, ipGroups: [ipGroup('a', { networkMask: 16 })] }
  test.same(change(ONE, wider).removedAddresses, [])
  test.same(change({}, ONE).removedAddresses, [])
})

t.test('the network of an address is a route, unless another address of its interface keeps it', async (test) => {
  const networks = (...texts: readonly string[]) => texts.map((destination) => ({ destination, source: undefined }))
  const narrower = { ...ONE, ipGroups: [ipGroup('a', { networkMask: 25 })] }
  test.same(change(ONE, narrower).routes, networks('10.0.0.0/24', '10.0.0.0/25'))
  const two = { ...ONE, staticIps: [staticIp('1', 'a', '10.0.0.5'), staticIp('2', 'a', '10.0.0.6')] }
  test.same(change(ONE, two).routes, [])
  const [before, after] = [ONE, {}].map((records) => desiredNetwork(viewOf(records), NODE))
  if (before === undefined || after === undefined) throw new Error('no networks')
  const foreign = { interfaceId: ETH0, ip: '10.0.0.99', prefix: 24 }
  test.same(networkChange(before, after, [...before.addresses, foreign]).routes, [])
})

t.test('added, deleted and changed routes are named by their destination', async (test) => {
  const running = { ipRoutes: [ipRoute('1', { destination: '10.8.0.0/16', viaIp: '10.0.0.1' })] }
  const desired = { ipRoutes: [ipRoute('1', { destination: '10.8.0.0/16', viaIp: '10.0.0.2' })] }
  test.same(change(running, desired).routes, [{ destination: '10.8.0.0/16', source: undefined }])
  test.same(change(running, running).routes, [])
  test.same(change(running, {}).routes, [{ destination: '10.8.0.0/16', source: undefined }])
})

t.test('a policy route concerns packets from its source', async (test) => {
  const ipRoutes = [ipRoute('1', { type: 'policy', source: '10.0.0.5', viaIp: '10.0.0.1' })]
  test.same(change({}, { ipRoutes }).routes, [{ destination: '0.0.0.0/0', source: '10.0.0.5/32' }])
})
