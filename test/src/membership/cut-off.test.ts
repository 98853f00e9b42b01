import t from 'tap'
import { cutOff } from '../../../src/membership/cut-off.ts'

const found = (state: 'up' | 'down', answers: boolean, gateway = '192.0.2.254') => ({
  facts: {
    interfaces: async () => [{ name: 'eth0', state, addresses: [{ ip: '192.0.2.1', prefix: 24 }] }] as never,
    ping: async () => ({ ok: answers }) as never,
  },
  running: { list: () => [{ networkIp: '192.0.2.0', networkMask: 24, gateway }] } as never,
})

t.test('a node with carrier and a gateway that answers is not cut off', async (t) => {
  t.equal(await cutOff(found('up', true), '192.0.2.1'), undefined)
  t.equal(await cutOff(found('up', false, ''), '192.0.2.1'), undefined, 'nor one that has no gateway')
  t.equal(await cutOff(found('down', false), '127.0.0.1'), undefined, 'nor loopback')
})

t.test('what tells that it may be', async (t) => {
  t.match(await cutOff(found('down', true), '192.0.2.1'), /eth0 has no carrier/)
  t.match(await cutOff(found('up', false), '192.0.2.1'), /gateway 192\.0\.2\.254 does not answer/)
  t.match(await cutOff(found('up', true), '192.0.2.9'), /no address of this node/)
})
