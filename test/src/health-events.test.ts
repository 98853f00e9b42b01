import t from 'tap'
import { healthEvents } from '../../src/health-events.ts'
import { backend, realServer } from '../config-fixture.ts'
import { viewOf } from '../view-fixture.ts'

t.test('a server is told by the names it has in running; an unknown one by those of HAProxy', async (test) => {
  const told: unknown[] = []
  const publish = (kind: string, data: object) => void told.push({ kind, ...data })
  const view = viewOf({
    realServers: [realServer('r', { name: 'web' })],
    l7Backends: [backend('b', ['r'], { name: 'shop' })],
  })
  healthEvents(
    { publish },
    view,
  )([
    { backend: 'b', server: 'r', up: false, reason: 'L4CON' },
    { backend: 'x', server: 'y', up: true, reason: '' },
  ])
  test.same(told, [
    { kind: 'realServer', state: 'down', id: 'r', name: 'web', backendId: 'b', backendName: 'shop', reason: 'L4CON' },
    { kind: 'realServer', state: 'up', id: 'y', name: 'y', backendId: 'x', backendName: 'x', reason: '' },
  ])
})
