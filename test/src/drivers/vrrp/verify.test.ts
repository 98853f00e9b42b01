import t from 'tap'
import { vrrpDriver } from '../../../../src/drivers/vrrp/driver.ts'
import { viewOf } from '../../../fixtures/view.ts'
import { pair, PAIR } from './vrrp-records.ts'

/** Two groups on the same cards. */
function two(first: number, second: number) {
  const [a, b] = [pair({ group: { vrrpId: first } }), pair({ group: { id: 'dmz', name: 'DMZ', vrrpId: second } })]
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
  test.same(vrrpDriver('node', () => []).verify(viewOf(two(1, 1))), [], 'nothing moves without a cluster')
})
