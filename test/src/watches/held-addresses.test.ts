import t from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import { HeldAddresses } from '../../../src/watches/held-addresses.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { viewOf } from '../../fixtures/view.ts'
import { pair } from '../drivers/vrrp/vrrp-records.ts'

const NOW = '2026-01-02T03:04:05.000Z'

function fixture(floating = ['10.0.0.100', 'fd00::1']) {
  const own = new Set(['10.0.0.5'])
  const told: object[] = []
  const clock = manualClock()
  const running = viewOf(pair({ floating }))
  const tell = (data: object) => void told.push(data)
  const held = new HeldAddresses({ nodeId: 'node', running, tell, clock, log: silentLog, own: () => own })
  return { held, own, told, clock }
}

t.test('an address on an interface of this node is held, since it was seen there', async (test) => {
  const { held, own, told, clock } = fixture()
  held.look()
  test.same(held.held, [])
  own.add('10.0.0.100')
  held.look()
  clock.advance(5_000)
  held.look()
  test.same(held.held, [{ ip: '10.0.0.100', since: NOW }])
  own.delete('10.0.0.100')
  held.look()
  test.same(held.held, [])
  const move = { ip: '10.0.0.100', floatingIpId: 'fip-0', nodeId: 'node' }
  test.same(told, [
    { state: 'taken', ...move },
    { state: 'given away', ...move },
  ])
})

t.test('addresses that are present at the start of the daemon have not moved', async (test) => {
  const { held, own, told } = fixture()
  own.add('fd00::1')
  held.look()
  test.same(held.held, [{ ip: 'fd00::1', since: NOW }])
  test.same(told, [])
})

t.test("the addresses of this machine are read in the kernel's form", async (test) => {
  const running = viewOf(pair({ floating: ['127.0.0.1'] }))
  const held = new HeldAddresses({
    nodeId: 'node',
    running,
    tell: () => undefined,
    clock: manualClock(),
    log: silentLog,
  })
  held.start()
  test.teardown(() => held.close())
  test.match(held.held, [{ ip: '127.0.0.1' }])
})
