import t from 'tap'
import { rowKey } from '../../../src/stats/live-plan.ts'
import { summarizeLayer4, summarizeLayer7 } from '../../../src/stats/summary.ts'
import { namesOf } from './names-fixture.ts'

const real = (ripId: string) => ({ ripId, name: `n ${ripId}` })
const names = {
  ...namesOf(
    [
      { id: 'f1', name: 'one' },
      { id: 'f2', name: 'off' },
    ],
    [
      { id: 'b1', name: 'shop', reals: ['up', 'down', 'drained', 'halted', 'new'].map(real) },
      { id: 'b2', name: 'blog', reals: [real('down')] },
    ],
  ),
  state: (id: string) => (id === 'drained' || id === 'halted' ? id : ('online' as const)),
}

t.test('layer 7: who is chosen to rest is not down, and a backend that nobody serves is', async (test) => {
  const said = new Map(
    Object.entries({
      [`${rowKey('frontend', 'f1', '')} status`]: 'OPEN',
      [`${rowKey('frontend', 'f1', '')} scur`]: '4',
      [`${rowKey('frontend', 'f1', '')} rate`]: '2',
      [`${rowKey('frontend', 'f1', '')} req_rate`]: '9',
      [`${rowKey('backend', 'b1', '')} status`]: 'UP',
      [`${rowKey('backend', 'b2', '')} status`]: 'DOWN',
      [`${rowKey('server', 'b1', 'up')} status`]: 'UP',
      [`${rowKey('server', 'b1', 'down')} status`]: 'DOWN',
      [`${rowKey('server', 'b1', 'drained')} status`]: 'DOWN',
      [`${rowKey('server', 'b1', 'halted')} status`]: 'MAINT',
      [`${rowKey('server', 'b1', 'new')} status`]: 'no check',
      [`${rowKey('server', 'b2', 'down')} status`]: 'DOWN 1/2',
    }),
  )
  const live = { problem: undefined, figure: (key: string, column: string) => said.get(`${key} ${column}`) }
  const { layer, down } = await summarizeLayer7(live, names)
  test.same(layer, {
    problem: null,
    frontends: { total: 2, up: 1, down: 0 },
    backends: { total: 2, up: 1, down: 1 },
    reals: { total: 6, up: 1, down: 1, checking: 1, drained: 1, halted: 1, unknown: 1 },
    traffic: { sessions: 4, newPerSecond: 2, requestsPerSecond: 9, bytesInPerSecond: null, bytesOutPerSecond: null },
  })
  test.same(down, [
    { kind: 'server', id: 'down', name: 'n down', backendName: 'shop' },
    { kind: 'backend', id: 'b2', name: 'blog' },
  ])
})

t.test('layer 7 without an answer: nothing is up, nothing is down', async (test) => {
  const { layer, down } = await summarizeLayer7({ problem: 'gone', figure: () => undefined }, names)
  test.match(layer, { problem: 'gone', frontends: { total: 2, up: 0, down: 0 }, traffic: { sessions: null } })
  test.same(down, [])
})

t.test('layer 4: sums of what the kernel counts', async (test) => {
  const live = {
    problem: undefined,
    figure: (key: string, column: string) =>
      key === rowKey('frontend', 'f1', '')
        ? { services: 1, connectionsPerSecond: 5, bytesInPerSecond: 10, bytesOutPerSecond: undefined }[column]
        : key === rowKey('server', 'b1', 'up') && column === 'activeConnections'
          ? 7
          : undefined,
    realsUp: (key: string) => (key === rowKey('backend', 'b1', '') ? 1 : 0),
    healthIn: (_: string, ripId: string) => (ripId === 'up' || ripId === 'down' ? ripId : ('unknown' as const)),
  }
  const { layer, down } = await summarizeLayer4(live, names)
  test.match(layer, {
    frontends: { total: 2, up: 1, down: 0 },
    backends: { total: 2, up: 1, down: 1 },
    reals: { total: 6, up: 1, down: 2, drained: 1, halted: 1, unknown: 1 },
    traffic: { sessions: 7, newPerSecond: 5, requestsPerSecond: null, bytesInPerSecond: 10, bytesOutPerSecond: null },
  })
  test.equal(down.length, 3)
})
