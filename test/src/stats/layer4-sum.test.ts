import t from 'tap'
import { shownIn, summed } from '../../../src/stats/layer4-sum.ts'

const real = (id: string, backendId: string, more: object) => ({ id, name: id, backendId, state: 'online', ...more })
const ONE = {
  frontends: [{ id: 'f', name: 'web', ip: '192.0.2.1', connections: 5, packetsOut: null, bytesInPerSecond: 0.5 }],
  backends: [{ id: 'b', name: 'b', realsTotal: 2, connections: 5, realsUp: 2 }],
  reals: [
    real('r', 'b', { connections: 5, activeConnections: 1, weight: 100, health: 'up' }),
    real('s', 'b', { connections: null, activeConnections: null, weight: null, health: 'up' }),
  ],
}
const OTHER = {
  frontends: [
    { id: 'g', name: 'its own', ip: '192.0.2.2', connections: 1, packetsOut: null, bytesInPerSecond: 1 },
    { id: 'f', name: 'web', ip: '192.0.2.1', connections: 2 ** 40, packetsOut: null, bytesInPerSecond: 1 },
  ],
  backends: [{ id: 'b', name: 'b', realsTotal: 2, connections: 7, realsUp: 1 }],
  reals: [
    real('r', 'b', { connections: null, activeConnections: null, weight: null, health: 'down' }),
    real('s', 'b', { connections: 7, activeConnections: 3, weight: 50, health: 'up' }),
    real('r', 'c', { connections: 1, activeConnections: 0, weight: 1, health: 'unknown' }),
  ],
}

t.test('counts of the kernels are added up, and shared data are reported once', (t) => {
  const sum = summed([ONE, OTHER])
  t.strictSame(sum.frontends, [
    { id: 'f', name: 'web', ip: '192.0.2.1', connections: 2 ** 40 + 5, packetsOut: null, bytesInPerSecond: 1.5 },
    OTHER.frontends[0],
  ])
  t.strictSame(sum.backends, [{ id: 'b', name: 'b', realsTotal: 2, connections: 12, realsUp: 1 }])
  t.strictSame(sum.reals, [
    real('r', 'b', { connections: 5, activeConnections: 1, weight: 100, health: 'down' }),
    real('s', 'b', { connections: 7, activeConnections: 3, weight: 50, health: 'up' }),
    OTHER.reals[2],
  ])
  t.strictSame(summed([ONE]), ONE)
  t.end()
})

t.test('each view shows its part, and nothing for an unknown id', (t) => {
  const { frontends, backends, reals } = ONE
  t.strictSame(shownIn({ kind: 'all' }, ONE), ONE)
  t.strictSame(shownIn({ kind: 'frontends' }, ONE), frontends)
  t.strictSame(shownIn({ kind: 'backends' }, ONE), backends)
  t.strictSame(shownIn({ kind: 'rips' }, ONE), reals)
  t.strictSame(shownIn({ kind: 'frontend', id: 'f' }, ONE), frontends[0])
  t.strictSame(shownIn({ kind: 'backend', id: 'b' }, ONE), backends[0])
  t.strictSame(shownIn({ kind: 'backend-rips', id: 'b' }, ONE), reals)
  t.strictSame(shownIn({ kind: 'rip', id: 's' }, ONE), [reals[1]])
  for (const kind of ['frontend', 'backend', 'backend-rips', 'rip'] as const)
    t.equal(shownIn({ kind, id: 'none' }, ONE), undefined)
  t.end()
})
