import t from 'tap'
import { Exposition } from '../../../src/exposition/exposition.ts'
import { Layer4Samples } from '../../../src/metrics/layer4-samples.ts'
import { rowKey } from '../../../src/stats/live-plan.ts'
import { namesOf } from '../stats/names-fixture.ts'

const names = {
  ...namesOf(
    [{ id: 'f', name: 'DNS' }],
    [{ id: 'b', name: 'pool', reals: ['r1', 'r2'].map((ripId) => ({ ripId, name: `n ${ripId}` })) }],
  ),
  state: (id: string) => (id === 'r2' ? ('halted' as const) : ('online' as const)),
}

t.test('each object with its figures; unknown values are left out', async (test) => {
  const figures = new Map([
    [`${rowKey('frontend', 'f', '')} countedConnections`, 12],
    [`${rowKey('server', 'b', 'r1')} countedBytesIn`, 2 ** 40],
    [`${rowKey('server', 'b', 'r1')} weight`, 5],
  ])
  const live = {
    hasFigures: true,
    figure: (key: string, column: string) => figures.get(`${key} ${column}`),
    realsUp: () => 1,
    healthIn: (_: string, ripId: string) => (ripId === 'r1' ? ('up' as const) : ('unknown' as const)),
  }
  const out = new Exposition('prometheus')
  for (const _ of new Layer4Samples({ live, names }).write(out));
  const lines = out
    .end()
    .toString()
    .split('\n')
    .filter((line) => !line.startsWith('#') && line !== '')
  const r1 = '{backend_id="b",backend="pool",server_id="r1",server="n r1"}'
  test.same(lines, [
    'fulcrum_layer4_frontend_connections_total{frontend_id="f",frontend="DNS"} 12',
    `fulcrum_layer4_server_received_bytes_total${r1} 1099511627776`,
    `fulcrum_layer4_server_weight${r1} 5`,
    'fulcrum_layer4_backend_servers_up{backend_id="b",backend="pool"} 1',
    `fulcrum_layer4_server_up${r1} 1`,
    `fulcrum_layer4_server_state${r1} 2`,
    `fulcrum_layer4_server_state${r1.replaceAll('r1', 'r2')} 0`,
  ])
})

t.test('nothing while the table is not read', async (test) => {
  const live = { hasFigures: false, figure: () => 1, realsUp: () => 1, healthIn: () => 'up' as const }
  const out = new Exposition('prometheus')
  for (const _ of new Layer4Samples({ live, names }).write(out));
  test.equal(out.end().toString(), '')
})
