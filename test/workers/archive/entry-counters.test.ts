import t from 'tap'
import { ipvsPlan } from '../../../src/ipvs/names.ts'
import { TOTAL_COUNT } from '../../../src/ipvs/protocol.ts'
import { IpvsReader } from '../../../src/ipvs/reader.ts'
import { EntryCounters } from '../../../workers/archive/entry-counters.ts'
import { IpvsPlaces } from '../../../workers/archive/ipvs-places.ts'
import { l4Backend, l4Frontend } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'
import { real } from '../../labs/layer4-lab.ts'
import { IpvsSimulator } from '../../simulators/ipvs-simulator.ts'

const VIP = '192.0.2.10:80'
const plan = ipvsPlan(
  viewOf({
    realServers: [real('r1'), real('r2')],
    l4Backends: [l4Backend('b', ['r1', 'r2'])],
    l4Frontends: [l4Frontend('f', 'b')],
  }),
  1,
)

/** Starts reading; each call returns the new connections of each entry, the service first. */
function reading(kernel: IpvsSimulator) {
  const places = new IpvsPlaces()
  places.take(plan)
  const reader = new IpvsReader(kernel.channel())
  const counters = new EntryCounters(places)
  return () => {
    kernel.pass()
    if (reader.read() !== undefined) throw new Error('the table cannot be read')
    places.follow(reader.table)
    counters.read(reader.table)
    return Array.from(places.keys, (_, entry) => counters.increments[entry * TOTAL_COUNT])
  }
}

function connect(kernel: IpvsSimulator, times: number): void {
  for (let i = 0; i < times; i++) for (const service of kernel.table.services) kernel.open(service, '203.0.113.1')
}

t.test('for entries of the first reading the beginning is unknown', async (test) => {
  const kernel = new IpvsSimulator()
  kernel.ipvsadm('-A', '-t', VIP, '-s', 'wrr')
  kernel.ipvsadm('-a', '-t', VIP, '-r', '10.0.0.1', '-m')
  connect(kernel, 5)
  const read = reading(kernel)
  test.same(read(), [Number.NaN, Number.NaN])
  connect(kernel, 3)
  test.same(read(), [3, 3])
})

t.test('a planned server that appears later may have counted before; an unplanned one starts', async (test) => {
  const kernel = new IpvsSimulator()
  kernel.ipvsadm('-A', '-t', VIP, '-s', 'wrr')
  for (const server of ['10.0.0.1', '10.0.0.2']) kernel.ipvsadm('-a', '-t', VIP, '-r', server, '-m')
  connect(kernel, 100)
  kernel.ipvsadm('-d', '-t', VIP, '-r', '10.0.0.2')
  const read = reading(kernel)
  read()
  kernel.ipvsadm('-a', '-t', VIP, '-r', '10.0.0.2', '-m')
  kernel.ipvsadm('-a', '-t', VIP, '-r', '10.0.0.9', '-m')
  test.same(read(), [0, 0, Number.NaN, 0])
  connect(kernel, 3)
  test.same(read(), [3, 1, 1, 1])
  kernel.ipvsadm('-d', '-t', VIP, '-r', '10.0.0.2')
  read()
  kernel.ipvsadm('-a', '-t', VIP, '-r', '10.0.0.2', '-m')
  test.same(read(), [0, 0, 0, 0], 'from then on its count is known')
})
