import t from 'tap'
import { COLUMN, COLUMNS, ipvsPlan } from '../../../src/ipvs/names.ts'
import { IpvsReader } from '../../../src/ipvs/reader.ts'
import { IpvsPlaces } from '../../../workers/archive/ipvs-places.ts'
import { ipvsRows } from '../../../workers/archive/ipvs-rows.ts'
import { l4Backend, l4Frontend } from '../../fixtures/config.ts'
import { IpvsSimulator } from '../../simulators/ipvs-simulator.ts'
import { real } from '../../labs/layer4-lab.ts'
import { viewOf } from '../../fixtures/view.ts'

const TRAFFIC = { packetsIn: 2, bytesIn: 100, packetsOut: 3, bytesOut: 500 }

t.test('a frontend is the sum of its services, a member of its destinations, a backend of its members', (t) => {
  const view = viewOf({
    realServers: [real('r1'), real('r2')],
    l4Backends: [l4Backend('b', ['r1', 'r2'])],
    l4Frontends: [
      l4Frontend('f', 'b'),
      l4Frontend('g', 'b', { ports: '81' }),
      l4Frontend('off', 'b', { enabled: false, ports: '82' }),
    ],
  })
  const kernel = new IpvsSimulator()
  for (const port of [80, 81]) {
    kernel.ipvsadm('-A', '-t', `192.0.2.10:${port}`, '-s', 'wrr')
    kernel.ipvsadm('-a', '-t', `192.0.2.10:${port}`, '-r', '10.0.0.1:80', '-m', '-w', '100')
  }
  const [web, other] = kernel.table.services
  for (const service of [web, web, other]) if (service !== undefined) kernel.open(service, '203.0.113.1', TRAFFIC)
  kernel.pass()
  const reader = new IpvsReader(kernel.channel())
  const places = new IpvsPlaces()
  places.take(ipvsPlan(view, 1))
  t.equal(reader.read(), undefined)
  places.follow(reader.table)
  const rows = ipvsRows(reader.table, places)
  const column = (name: keyof typeof COLUMN) => [0, 1, 2, 3, 4, 5].map((row) => rows[row * COLUMNS + COLUMN[name]])
  // f, g, off, b, r1, r2
  t.strictSame(column('connections'), [2, 1, Number.NaN, 3, 3, Number.NaN])
  t.strictSame(column('bytesOut'), [1_000, 500, Number.NaN, 1_500, 1_500, Number.NaN])
  t.strictSame(column('activeConnections'), [2, 1, Number.NaN, 3, 3, Number.NaN])
  t.strictSame(column('weight').slice(4), [100, Number.NaN])
  t.strictSame(column('services').slice(4), [2, 2], 'both should be in two services')
  t.strictSame(column('dests'), [1, 1, 0, 2, 2, 0])
  t.end()
})
