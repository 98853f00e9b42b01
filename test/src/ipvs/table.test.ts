import t from 'tap'
import { AF_INET, PERSISTENT, PROTOCOL } from '../../../src/ipvs/protocol.ts'
import { IpvsTable } from '../../../src/ipvs/table.ts'

const WEB = Uint32Array.of(AF_INET | (PROTOCOL.tcp << 8), 80, 0xc0_00_02_07, 0, 0, 0)
const SERVER = Uint32Array.of(AF_INET, 8_080, 0x0a_00_00_01, 0, 0, 0)

function read(table: IpvsTable, dests: number): void {
  table.begin()
  const service = table.addService(WEB)
  table.schedulers[service] = 'rr'
  table.settings.set([PERSISTENT, 90, 0xff_ff_ff_ff], 0)
  table.beginDests(service)
  for (let i = 0; i < dests; i++) table.addDest(SERVER.with(2, 0x0a_00_00_01 + i))
  table.end()
}

t.test('entries keep their places while they are the same', (t) => {
  const table = new IpvsTable()
  read(table, 3)
  const { layout } = table
  const { ids } = table.dests
  read(table, 3)
  t.equal(table.layout, layout)
  t.equal(table.dests.ids, ids, 'nothing is allocated again')
  read(table, 2)
  t.equal(table.layout, layout + 1)
  read(table, 100)
  t.equal(table.layout, layout + 2)
  t.strictSame([...table.destStart.subarray(0, 2)], [0, 100])
  t.end()
})

t.test('as objects', (t) => {
  const table = new IpvsTable()
  read(table, 1)
  t.match(table.entries(), [
    { address: '192.0.2.7', port: 80, protocol: 6, mark: undefined, scheduler: 'rr', timeout: 90 },
  ])
  t.match(table.entries()[0]?.dests, [{ address: '10.0.0.1', port: 8_080, weight: 0, connections: Number.NaN }])
  t.end()
})
