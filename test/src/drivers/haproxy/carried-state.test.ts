import t from 'tap'
import { carriedState, NO_STATE } from '../../../../src/drivers/haproxy/carried-state.ts'
import { renderConfig } from '../../../../src/drivers/haproxy/render.ts'
import type { RealServer } from '../../../../src/model/real-server.ts'
import { backend, realServer } from '../../../fixtures/config.ts'
import { PATHS, viewOf } from './records.ts'

const config = (more: Partial<RealServer>, isChecked = true): string =>
  renderConfig(
    viewOf({
      realServers: [realServer('r1', more), realServer('r2', { ip: '2001:db8::2' })],
      l7Backends: [backend('b', ['r1', 'r2'], { healthCheck: { type: isChecked ? 'tcp' : 'none' } })],
    }),
    PATHS,
  )
/** A row of `show servers state`. */
const row = (name: string, address: string, state: number, admin: number, weight = 100): string =>
  `3 b 100001 ${name} ${address} ${state} ${admin} ${weight} ${weight} 1 8 2 0 6 0 0 1 - 8000 - 0 0 - - 0`
const table = (...rows: readonly string[]): string => `${NO_STATE}${rows.join('\n')}\n`
const DOWN = row('r1', '127.0.0.1', 0, 0)

t.test('servers that are down stay down', (t) => {
  t.equal(carriedState(table(DOWN, row('r2', '2001:db8::2', 2, 0)), config({})), table(DOWN))
  const down6 = row('r2', '2001:db8::2', 0, 4)
  t.equal(carriedState(table(down6), config({})), table(row('r2', '2001:db8::2', 0, 0)), 'IPv6')
  t.end()
})

t.test('servers that are changed, gone, halted or no longer checked are left out', (t) => {
  t.equal(carriedState(table(DOWN), config({ weight: 7 })), table(row('r1', '127.0.0.1', 0, 0, 7)))
  t.end()
})

t.test('nothing is said of servers that changed, are gone, halted or no longer checked', (t) => {
  for (const more of [{ ip: '127.0.0.2' }, { port: 8001 }, { state: 'halted' }, { id: 'other' }] as const) {
    t.equal(carriedState(table(DOWN), config(more)), NO_STATE, JSON.stringify(more))
  }
  t.equal(carriedState(table(DOWN), config({}, false)), NO_STATE)
  t.equal(carriedState(table(row('r1', '127.0.0.1', 0, 1)), config({})), NO_STATE, 'maintenance is not a failed check')
  t.end()
})

t.test('a server with a host name keeps its current address', (t) => {
  const named = (address: string, state: number, admin: number, name = 'Web.test', weight = 100) =>
    row('r1', address, state, admin, weight).replace(' 1 - 8000 ', ` 1 ${name} 8000 `)
  for (const isChecked of [true, false]) {
    const file = config({ ip: 'Web.test', weight: 7 }, isChecked)
    t.equal(carriedState(table(named('192.0.2.1', 2, 0)), file), table(named('192.0.2.1', 2, 0, 'Web.test', 7)))
    t.equal(carriedState(table(named('-', 0, 32)), file), NO_STATE, 'it has none')
    t.equal(carriedState(table(named('192.0.2.1', 2, 0, 'other.test')), file), NO_STATE, 'it had another name')
    t.equal(carriedState(table(row('r1', '192.0.2.1', 2, 0)), file), NO_STATE, 'it had an address')
  }
  t.equal(carriedState(table(named('192.0.2.1', 2, 0)), config({})), NO_STATE, 'it has an address now')
  t.equal(carriedState(table(named('192.0.2.1', 2, 0)), config({ ip: 'Web.test', state: 'halted' })), NO_STATE)
  t.end()
})

t.test('a table of another shape is not guessed at', (t) => {
  t.equal(carriedState('2\n# be_id\n', config({})), NO_STATE)
  t.equal(carriedState('', config({})), NO_STATE)
  t.end()
})

t.test('a place for an SRV record keeps its answer', (t) => {
  const place = config({ ip: '_http._tcp.svc.test', port: null }, false)
  const named = (service: string, admin: number, port = 8080) =>
    `3 b 100001 r1 192.0.2.7 2 ${admin} 100 100 1 8 2 0 6 0 0 1 a.svc.test ${port} ${service} 0 0 - - 0`
  t.equal(carriedState(table(named('_http._tcp.svc.test', 64)), place), table(named('_http._tcp.svc.test', 0)))
  t.equal(carriedState(table(named('_http._tcp.other.test', 64)), place), NO_STATE)
  t.equal(carriedState(table(named('_http._tcp.svc.test', 96)), place), NO_STATE, 'without an answer')
  t.end()
})
