import t from 'tap'
import { isAudited, isNotedBefore, noteOf } from '../../../src/http/audited.ts'
import { endpoints } from '../../../src/resources/index.ts'

t.test('everything but reads leaves an entry; a read that reveals a secret does too', async (test) => {
  const left = endpoints.filter((endpoint) => !isAudited(endpoint))
  test.same(
    left.filter(({ method }) => method !== 'GET').map(({ name }) => name),
    ['auth.options', 'auth.resume'],
  )
  for (const { name, reveals } of left) test.notOk(reveals, name)
  for (const endpoint of endpoints.filter(({ reveals }) => reveals)) test.ok(isAudited(endpoint), endpoint.name)
})

t.test('an immediate action is recorded before it begins', async (test) => {
  const before = endpoints.filter(isNotedBefore)
  test.ok(before.some(({ name }) => name === 'services.apply'))
  test.ok(before.every(({ effect }) => effect !== 'read' && effect !== 'stage'))
  test.notOk(
    before.some(({ name }) => name === 'auth.login'),
    'the user is unknown then',
  )
})

t.test('data for the entry is read while the headers are available', async (test) => {
  const [endpoint] = endpoints
  if (endpoint === undefined) throw new Error('no endpoint')
  const incoming = { method: 'PUT', path: '/p', query: 'q=1', address: '192.0.2.1' }
  const actor = { userId: 'u', email: 'e', sessionId: 's' }
  const asked = { route: { endpoint, index: 0, names: [] }, incoming: incoming as never, actor, requestId: 'r' }
  test.same(noteOf(asked), { requestId: 'r', endpoint, actor, ...incoming })
})
