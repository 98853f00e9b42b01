import t from 'tap'
import { ERRNO, type NetlinkChannel } from '../../../src/ipvs/exchange.ts'
import { IpvsReader } from '../../../src/ipvs/reader.ts'
import { conformance } from '../../simulators/ipvs-conformance.ts'
import { IpvsSimulator } from '../../simulators/ipvs-simulator.ts'

t.test('the simulator behaves like a kernel', (t) => conformance(t, new IpvsSimulator()))

function filled(): IpvsSimulator {
  const kernel = new IpvsSimulator()
  kernel.ipvsadm('-A', '-t', '192.0.2.7:80', '-s', 'wlc')
  kernel.ipvsadm('-a', '-t', '192.0.2.7:80', '-r', '10.0.0.1', '-m', '-w', '100')
  kernel.ipvsadm('-a', '-t', '192.0.2.7:80', '-r', '10.0.0.2', '-m', '-w', '100')
  return kernel
}

t.test('a kernel without IPVS is a state, and is checked again', (t) => {
  const kernel = filled()
  kernel.isLoaded = false
  const reader = new IpvsReader(kernel.channel())
  t.match(reader.read(), /this kernel has no IPVS/)
  kernel.isLoaded = true
  t.equal(reader.read(), undefined)
  t.equal(reader.table.services.count, 1)
  kernel.isLoaded = false
  t.match(reader.read(), /this kernel has no IPVS/, 'the module was unloaded')
  kernel.isLoaded = true
  kernel.family++
  t.equal(reader.read(), undefined, 'and has another number when it is back')
  kernel.family++
  t.equal(reader.read(), undefined, 'or was unloaded and loaded unnoticed')
  t.end()
})

t.test('while there is none, it is looked up less and less often, but at least every half minute', (t) => {
  const kernel = filled()
  kernel.isLoaded = false
  let asked = 0
  const channel = kernel.channel()
  const counting = {
    write: (message: Uint8Array) => {
      asked++
      channel.write(message)
    },
    read: (into: Uint8Array) => channel.read(into),
  }
  const reader = new IpvsReader(counting)
  for (let i = 0; i < 31; i++) t.match(reader.read(), /no IPVS/)
  t.equal(asked, 5, 'the 1st, 2nd, 4th, 8th and 16th')
  reader.lookAgain()
  reader.read()
  t.equal(asked, 6, 'an apply may have started it')
  kernel.isLoaded = true
  let left = 0
  for (; reader.read() !== undefined; left++);
  t.ok(left <= 15)
  t.end()
})

t.test('the layout changes with the entries and with nothing else', (t) => {
  const kernel = filled()
  const reader = new IpvsReader(kernel.channel())
  const layouts = [reader.read(), reader.table.layout].slice(1)
  const next = () => {
    t.equal(reader.read(), undefined)
    layouts.push(reader.table.layout)
    return layouts.at(-1) !== layouts.at(-2)
  }
  t.notOk(next())
  kernel.ipvsadm('-e', '-t', '192.0.2.7:80', '-r', '10.0.0.1', '-m', '-w', '5')
  t.notOk(next(), 'a weight')
  kernel.ipvsadm('-d', '-t', '192.0.2.7:80', '-r', '10.0.0.2')
  t.ok(next(), 'a removed server')
  kernel.ipvsadm('-A', '-f', '9')
  t.ok(next(), 'a new service')
  kernel.ipvsadm('-D', '-f', '9')
  t.ok(next())
  t.notOk(next())
  kernel.refuses = ERRNO.EPERM
  t.match(reader.read(), /CAP_NET_ADMIN/)
  kernel.refuses = undefined
  t.ok(next(), 'the remains of a failed reading are not compared')
  t.end()
})

t.test('counters beyond 32 bits, and never those of 32 bits', (t) => {
  const kernel = filled()
  const [service] = kernel.table.services
  if (service === undefined) throw new Error('no service')
  service.stats.raw[0] = 2 ** 32 + 5
  service.stats.raw[3] = 2 ** 45 + 1
  kernel.pass()
  const reader = new IpvsReader(kernel.channel())
  t.equal(reader.read(), undefined)
  t.match(reader.table.entries()[0], { connections: 2 ** 32 + 5, bytesIn: 2 ** 45 + 1 })
  t.end()
})

t.test('a dump that was interrupted is read again, and given up in the end', (t) => {
  const kernel = filled()
  const reader = new IpvsReader(kernel.channel())
  kernel.interrupted = 1
  t.equal(reader.read(), undefined)
  kernel.interrupted = 100
  t.match(reader.read(), /changed while it was read/)
  t.end()
})

t.test('messages that an earlier run left in the socket are skipped', (t) => {
  const kernel = filled()
  const channel = kernel.channel()
  const one = new IpvsReader(channel)
  t.equal(one.read(), undefined)
  // Requested, and never read.
  const unread = kernel.channel()
  const other = new IpvsReader({ write: (message) => unread.write(message), read: () => -1 })
  t.match(other.read(), /cut off/)
  channel.pending.push(...unread.pending)
  t.equal(one.read(), undefined)
  t.equal(one.table.services.count, 1)
  t.end()
})

t.test('broken answers are refused with a reason', (t) => {
  const kernel = filled()
  const whole = kernel.channel()
  const broken = (change: (datagram: Uint8Array) => Uint8Array): NetlinkChannel => ({
    write: (message) => whole.write(message),
    read(into) {
      const length = whole.read(into)
      if (length < 0) return length
      const changed = change(into.slice(0, length))
      into.set(changed)
      return changed.length
    },
  })
  const reason = (change: (datagram: Uint8Array) => Uint8Array) => {
    whole.pending.length = 0
    return new IpvsReader(broken(change)).read()
  }
  t.match(
    reason((bytes) => bytes.subarray(0, 30)),
    /malformed/,
  )
  t.match(
    reason((bytes) => bytes.with(0, 4)),
    /malformed/,
  )
  t.match(
    reason((bytes) => bytes.with(20, 1)),
    /malformed|no IPVS/,
  )
  const silent: NetlinkChannel = { write: () => undefined, read: () => -1 }
  t.match(new IpvsReader(silent).read(), /cut off/)
  t.end()
})

t.test('a thousand services', (t) => {
  const kernel = new IpvsSimulator()
  for (let i = 0; i < 1_000; i++) {
    kernel.ipvsadm('-A', '-t', `198.18.${i >> 8}.${i & 255}:80`)
    for (let j = 0; j < 3; j++) kernel.ipvsadm('-a', '-t', `198.18.${i >> 8}.${i & 255}:80`, '-r', `10.0.0.${j}`, '-m')
  }
  const reader = new IpvsReader(kernel.channel())
  t.equal(reader.read(), undefined)
  t.strictSame([reader.table.services.count, reader.table.dests.count], [1_000, 3_000])
  t.match(reader.table.entries()[999], { address: '198.18.3.231', dests: [{}, {}, { address: '10.0.0.2' }] })
  t.end()
})
