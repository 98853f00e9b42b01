import t from 'tap'
import { vrrpDriver } from '../../../../src/drivers/vrrp/driver.ts'
import type { IpGroup } from '../../../../src/model/network.ts'
import { viewOf } from '../../../fixtures/view.ts'
import { pair, PAIR } from './vrrp-records.ts'

/** Two groups on the same cards. */
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

t.test('groups of one interface with the same VRRP ids are refused, with ids that are free', async (test) => {
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
  test.same(driver.verify(viewOf({ ...six, staticIps: own })), [], 'keepalived tells families apart')
  test.same(vrrpDriver('node', () => []).verify(viewOf(two(1, 1))), [], 'nothing moves without a cluster')
})
