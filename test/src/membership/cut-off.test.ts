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

t.test('signs that it may be', async (t) => {
  t.match(await cutOff(found('down', true), '192.0.2.1'), /eth0 has no carrier/)
  t.match(await cutOff(found('up', false), '192.0.2.1'), /gateway 192\.0\.2\.254 does not answer/)
  t.match(await cutOff(found('up', true), '192.0.2.9'), /not an address of this node/)
})

t.test('however the address is written', async (t) => {
  const { facts, running } = found('down', true)
  const six = {
    ...facts,
    interfaces: async () => [{ name: 'eth0', state: 'down', addresses: [{ ip: '2001:db8::a' }] }],
  }
  for (const written of ['2001:db8::a', '2001:DB8::A', '2001:db8:0::a'])
    t.equal(await cutOff({ facts: six as never, running }, written), 'eth0 has no carrier')
  t.equal(await cutOff({ facts, running }, '0:0:0:0:0:0:0:1'), undefined, 'loopback')
})

t.test('a name is looked up', async (t) => {
  const named = (parts: ReturnType<typeof found>, ...addresses: readonly string[]) =>
    cutOff({ ...parts, lookUp: async () => addresses.map((address) => ({ address })) }, 'lb1.example')
  t.equal(await named(found('up', true), '192.0.2.1'), undefined)
  t.equal(await named(found('up', true), '2001:db8::9', '192.0.2.1'), undefined, 'one of them reaches it')
  t.match(await named(found('down', true), '127.0.1.1', '192.0.2.1'), /eth0 has no carrier/)
  t.match(await named(found('up', false), '192.0.2.1'), /gateway 192\.0\.2\.254 does not answer/)
})

t.test('a name that the machine cannot resolve externally stands for all of its addresses', async (t) => {
  const { facts, running } = found('up', true)
  const at = (more: readonly object[], lookUp = async () => [{ address: '127.0.1.1' }]) => {
    const interfaces = async () => [...(await facts.interfaces()), ...more] as never
    return cutOff({ facts: { ...facts, interfaces }, running, lookUp }, 'lb1.example')
  }
  const other = (state: 'up' | 'down', ip: string) => ({ name: 'eth1', state, addresses: [{ ip, prefix: 24 }] })
  t.equal(await at([]), undefined)
  t.equal(await at([other('up', '198.51.100.1')]), undefined)
  t.match(await at([other('down', '198.51.100.1')]), /eth1 has no carrier/, 'it may be this one')
  t.equal(
    await at([other('down', '127.0.0.1'), other('down', 'fe80::1')]),
    undefined,
    'no other node is reached by these',
  )
  const unknown = async () => await Promise.reject(new Error('ENOTFOUND'))
  t.match(await at([other('down', '198.51.100.1')], unknown), /eth1 has no carrier/)
  const none = { facts: { ...facts, interfaces: async () => [] }, running, lookUp: unknown }
  t.match(await cutOff(none, 'lb1.example'), /lb1\.example is not a known address/)
})
