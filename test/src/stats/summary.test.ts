import t from 'tap'
import { turn } from '../../../src/base/turns.ts'
import { rowKey } from '../../../src/stats/live-plan.ts'
import { LiveAnswers } from '../../../src/stats/live.ts'
import { PlacedObjects } from '../../../src/stats/placed-objects.ts'
import { summarizeLayer4, summarizeLayer7 } from '../../../src/stats/summary.ts'
import { tickOf } from '../../fixtures/live-tick.ts'
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

const COLUMNS = ['pxname', 'svname', 'scur', 'stot', 'bin', 'bout', 'status', 'type', 'rate', 'req_rate', 'act', 'bck']
const row = (proxy: string, server: string, scur: string, status: string, type: number, rate = '', requests = '') =>
  [proxy, server, scur, 0, 0, 0, status, type, rate, requests].join(',')

/** HAProxy's answer as the archive thread passes it on. */
function liveOf(lines: readonly string[], live = new LiveAnswers(names, 'n')) {
  const csv = new TextEncoder().encode(`# ${[COLUMNS.join(','), ...lines].join('\n')}\n\n`)
  live.update({ ...tickOf(csv), free: () => void csv.buffer.transfer(0) })
  return live
}

t.test('layer 7: a server halted on purpose is not down, and a backend without serving servers is', async (test) => {
  const live = liveOf([
    row('f1', 'FRONTEND', '4', 'OPEN', 0, '2', '9'),
    row('b1', 'up', '0', 'UP', 2),
    row('b1', 'down', '0', 'DOWN', 2),
    row('b1', 'drained', '0', 'DOWN', 2),
    row('b1', 'halted', '0', 'MAINT', 2),
    row('b1', 'new', '0', 'no check', 2),
    row('b1', 'BACKEND', '0', 'UP', 1),
    row('b2', 'down', '0', 'DOWN 1/2', 2),
    row('b2', 'BACKEND', '0', 'DOWN', 1),
  ])
  const placed = new PlacedObjects(names)
  const { layer, down } = await summarizeLayer7(live, placed)
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
  test.same((await summarizeLayer7(live, placed)).layer, layer)
})

t.test('layer 7: a backend without servers serves nothing, whatever HAProxy calls it', async (test) => {
  const empty = namesOf(
    [],
    ['a', 'b', 'c'].map((id) => ({ id, name: id, reals: [] })),
  )
  const said = (id: string, act: number, bck: number) => `${row(id, 'BACKEND', '0', 'UP', 1)},${act},${bck}`
  const rows = [said('a', 0, 0), said('b', 1, 0), said('c', 0, 1)]
  const { layer, down } = await summarizeLayer7(liveOf(rows, new LiveAnswers(empty, 'n')), new PlacedObjects(empty))
  test.same(layer.backends, { total: 3, up: 2, down: 0 })
  test.same(down, [])
})

t.test('layer 7: all data come from one answer, although another one arrives meanwhile', async (test) => {
  const ids = Array.from({ length: 50_000 }, (_, at) => `r${at}`)
  const many = namesOf([], [{ id: 'b1', name: 'shop', reals: ids.map(real) }])
  const live = new LiveAnswers(many, 'n')
  liveOf(
    ids.map((id) => row('b1', id, '0', 'UP', 2)),
    live,
  )
  const placed = new PlacedObjects(many)
  test.match((await summarizeLayer7(live, placed)).layer.reals, { total: 50_000, up: 50_000 })
  let isOver = false
  const summary = summarizeLayer7(live, placed).finally(() => (isOver = true))
  await turn()
  liveOf([row('b1', 'r0', '0', 'DOWN', 2)], live)
  test.notOk(isOver, 'others have their turn')
  test.match((await summary).layer.reals, { total: 50_000, up: 50_000 })
})

t.test(
  'layer 7 of a HAProxy that is configured by others: maintenance is halted, draining is drained',
  async (test) => {
    const live = liveOf([
      row('b1', 'up', '0', 'UP', 2),
      row('b1', 'down', '0', 'MAINT (via b2/x)', 2),
      row('b1', 'drained', '0', 'DRAIN', 2),
      row('b1', 'new', '0', 'DRAIN (agent)', 2),
    ])
    const { state: _state, ...observed } = names
    const { layer } = await summarizeLayer7(live, new PlacedObjects(observed))
    test.match(layer.reals, { total: 6, up: 1, halted: 1, drained: 2, down: 0, unknown: 2 })
    test.same(layer.backends, { total: 2, up: 0, down: 0 }, 'an unknown one is neither')
  },
)

t.test('layer 7 without an answer: nothing is up, nothing is down', async (test) => {
  const live = new LiveAnswers(names, 'n')
  const { layer, down } = await summarizeLayer7(live, new PlacedObjects(names))
  test.match(layer, {
    problem: /not been queried/,
    frontends: { total: 2, up: 0, down: 0 },
    traffic: { sessions: null },
  })
  test.same(down, [])
})

t.test("layer 4: sums of the kernel's counts", async (test) => {
  const rows = [rowKey('frontend', 'f1', ''), rowKey('server', 'b1', 'up')]
  const figures: readonly Readonly<Record<string, number>>[] = [
    { services: 1, connectionsPerSecond: 5, bytesInPerSecond: 10 },
    { activeConnections: 7 },
  ]
  const live = {
    problem: undefined,
    layout: 1,
    row: (key: string) => (rows.includes(key) ? rows.indexOf(key) : undefined),
    valueAt: (at: number, column: string) => figures[at]?.[column],
    realsUp: (key: string) => (key === rowKey('backend', 'b1', '') ? 1 : 0),
    healthIn: (_: string, ripId: string) => (ripId === 'up' || ripId === 'down' ? ripId : ('unknown' as const)),
  }
  const { layer, down } = await summarizeLayer4(live, new PlacedObjects(names))
  test.match(layer, {
    frontends: { total: 2, up: 1, down: 0 },
    backends: { total: 2, up: 1, down: 1 },
    reals: { total: 6, up: 1, down: 2, drained: 1, halted: 1, unknown: 1 },
    traffic: { sessions: 7, newPerSecond: 5, requestsPerSecond: null, bytesInPerSecond: 10, bytesOutPerSecond: null },
  })
  test.equal(down.length, 3)
})
