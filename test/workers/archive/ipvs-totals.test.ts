import t from 'tap'
import { COLUMN, COLUMNS, ipvsPlan } from '../../../src/ipvs/names.ts'
import { TOTAL_COUNT } from '../../../src/ipvs/protocol.ts'
import { IpvsReader } from '../../../src/ipvs/reader.ts'
import { EntryCounters } from '../../../workers/archive/entry-counters.ts'
import { IpvsPlaces } from '../../../workers/archive/ipvs-places.ts'
import { ipvsRows } from '../../../workers/archive/ipvs-rows.ts'
import { IpvsTotals } from '../../../workers/archive/ipvs-totals.ts'
import { l4Backend, l4Frontend } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'
import { real } from '../../labs/layer4-lab.ts'
import { IpvsSimulator } from '../../simulators/ipvs-simulator.ts'

const VIP = '192.0.2.10:80'
const planOf = (version: number, reals: readonly string[]) =>
  ipvsPlan(
    viewOf({
      realServers: ['r1', 'r2'].map((id) => real(id)),
      l4Backends: [l4Backend('b', [...reals])],
      l4Frontends: [l4Frontend('f', 'b')],
    }),
    version,
  )

t.test('totals never fall, whatever is added and removed', async (test) => {
  const kernel = new IpvsSimulator()
  kernel.ipvsadm('-A', '-t', VIP, '-s', 'wrr')
  const add = (server: string) => kernel.ipvsadm('-a', '-t', VIP, '-r', server, '-m')
  for (const server of ['10.0.0.1', '10.0.0.2']) add(server)
  const places = new IpvsPlaces()
  places.take(planOf(1, ['r1', 'r2']))
  const reader = new IpvsReader(kernel.channel())
  const [counters, totals] = [new EntryCounters(places), new IpvsTotals(places)]
  const read = (column: keyof typeof COLUMN = 'countedConnections') => {
    kernel.pass()
    if (reader.read() !== undefined) throw new Error('the table cannot be read')
    places.follow(reader.table)
    counters.read(reader.table)
    const figures = ipvsRows(reader.table, places)
    totals.add(counters.increments, figures)
    return Array.from({ length: places.rowCount }, (_, row) => figures[row * COLUMNS + COLUMN[column]])
  }
  const connect = (times: number) => {
    for (let i = 0; i < times; i++) for (const service of kernel.table.services) kernel.open(service, '203.0.113.1')
  }
  connect(50)
  test.same(read(), [0, 0, 0, 0], 'since the table is read')
  connect(10)
  test.same(read(), [10, 10, 5, 5], 'a frontend, its backend, two servers')
  kernel.ipvsadm('-d', '-t', VIP, '-r', '10.0.0.2')
  connect(4)
  test.same(read(), [14, 14, 9, 5])
  test.same(read('connections').slice(0, 2), [64, 34], 'unlike the sums of the table')
  add('10.0.0.2')
  test.same(read(), [14, 14, 9, 5])
  kernel.ipvsadm('-Z')
  test.same(read(), [14, 14, 9, 5], 'cleared counters')
  places.take(planOf(2, ['r2']))
  test.same(read(), [14, 14, 5], "a removed server's counts stay with the backend")
  test.equal(counters.increments.length, 3 * TOTAL_COUNT)
})

t.test('traffic that bypasses this machine is not reported', async (test) => {
  const places = new IpvsPlaces()
  const view = viewOf({
    realServers: [real('r1')],
    l4Backends: [l4Backend('b', ['r1'])],
    l4Frontends: [l4Frontend('f', 'b', { forwarding: 'gate' })],
  })
  places.take(ipvsPlan(view, 1))
  const kernel = new IpvsSimulator()
  const reader = new IpvsReader(kernel.channel())
  reader.read()
  places.follow(reader.table)
  const figures = ipvsRows(reader.table, places)
  new IpvsTotals(places).add(new Float64Array(0), figures)
  test.equal(figures[COLUMN.countedBytesIn], 0)
  test.ok(Number.isNaN(figures[COLUMN.countedBytesOut]))
})
