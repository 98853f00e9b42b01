import t from 'tap'
import { healthEvents } from '../../../src/events/health-events.ts'
import { backend, l4Backend, realServer } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

t.test('a server is named as in running; an unknown one as in HAProxy', async (test) => {
  const told: unknown[] = []
  const publish = (kind: string, data: object) => void told.push({ kind, ...data })
  const view = viewOf({
    realServers: [realServer('r', { name: 'web' })],
    l7Backends: [backend('b', ['r'], { name: 'shop' })],
    l4Backends: [l4Backend('l', ['r'], { name: 'mail' })],
  })
  healthEvents(
    { publish },
    view,
  )([
    { backend: 'b', server: 'r', up: false, reason: 'L4CON' },
    { backend: 'x', server: 'y', up: true, reason: '' },
    { backend: 'l', server: 'r', up: false, reason: 'its tcp check fails' },
  ])
  test.same(told, [
    { kind: 'realServer', state: 'down', id: 'r', name: 'web', backendId: 'b', backendName: 'shop', reason: 'L4CON' },
    { kind: 'realServer', state: 'up', id: 'y', name: 'y', backendId: 'x', backendName: 'x', reason: '' },
    {
      kind: 'realServer',
      state: 'down',
      id: 'r',
      name: 'web',
      backendId: 'l',
      backendName: 'mail',
      reason: 'its tcp check fails',
    },
  ])
})
