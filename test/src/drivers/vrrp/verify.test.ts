import t from 'tap'
import { vrrpDriver } from '../../../../src/drivers/vrrp/driver.ts'
import type { IpGroup } from '../../../../src/model/network.ts'
import { viewOf } from '../../../fixtures/view.ts'
import { pair, PAIR } from './vrrp-records.ts'

/** Two groups on the same interfaces. */
function two(first: number, second: number, other: Partial<IpGroup> = {}, floating = ['10.0.0.100']) {
  const a = pair({ group: { vrrpId: first } })
  const b = pair({ group: { id: 'dmz', name: 'DMZ', vrrpId: second, ...other }, floating })
  const renamed = <T extends { readonly id: string }>(list: readonly T[] = []) =>
    list.map((one) => ({ ...one, id: `b-${one.id}` }))
  return {
    ipGroups: [...(a.ipGroups ?? []), ...(b.ipGroups ?? [])],
    staticIps: [...(a.staticIps ?? []), ...renamed(b.staticIps)],
    floatingIps: [...(a.floatingIps ?? []), ...renamed(b.floatingIps)],
  }
}

t.test('groups of one interface with the same VRRP ids are refused, with free ids', async (test) => {
  const driver = vrrpDriver('node', () => PAIR)
  test.same(driver.verify(viewOf(two(1, 7))), [])
  test.same(driver.verify(viewOf(two(1, 6))), [
    {
      section: 'ipGroups',
      id: 'lan',
      field: 'vrrpId',
      message:
        'the VRRP ids of the IP group LAN are those of DMZ on the same interface: set vrrpId of one of them to 13',
    },
  ])
  const six = two(1, 1, { networkIp: 'fd00::', networkMask: 64 }, ['fd00::100'])
  const { staticIps } = six
  const own = staticIps.map((one) =>
    one.groupId === 'dmz' ? { ...one, ip: one.ip.replace('10.0.0.', 'fd00::') } : one,
  )
  test.same(driver.verify(viewOf({ ...six, staticIps: own })), [], 'keepalived distinguishes families')
  test.same(vrrpDriver('node', () => []).verify(viewOf(two(1, 1))), [], 'nothing moves without a cluster')
})

t.test('floating IPs of one group that would move with one VRRP id are refused, with the remedy', async (test) => {
  const driver = vrrpDriver('node', () => PAIR)
  const records = pair({ floating: ['10.0.0.100', '10.0.0.101'] })
  const preferring = (...nodes: readonly string[]) =>
    viewOf({
      ...records,
      floatingIps: (records.floatingIps ?? []).map((one, at) => ({ ...one, preferredNode: nodes[at] ?? '' })),
    })
  test.same(driver.verify(preferring('node', 'gone')), [])
  test.same(driver.verify(preferring('gone', 'gone')), [], 'they move together')
  test.same(driver.verify(preferring('gone', 'gone-2')), [
    {
      section: 'floatingIps',
      id: 'fip-1',
      field: 'preferredNode',
      message:
        'floating IP 10.0.0.101 would use the same VRRP id as 10.0.0.100 in the IP group LAN: set preferredNode to an existing node, or to none',
    },
  ])
})
