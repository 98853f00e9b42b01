import t from 'tap'
import { forPeer } from '../../../src/http/forwarded.ts'
import { Doings, pipelineOf } from '../../fixtures/forwarding.ts'
import { get, textOf, TestCluster } from '../../fixtures/peers.ts'

const nobodyElse = {
  isMember: () => true,
  otherIds: () => [],
  forward: () => Promise.reject(new Error('it went further')),
}

t.test('a forwarded request is not forwarded again, and only leads to paths that name this node', async (test) => {
  const cluster = await TestCluster.make()
  const doings = new Doings()
  const pipeline = pipelineOf('lb2', doings, nobodyElse)
  const server = await cluster.serve(test, (request) => pipeline.handleForwarded(request))
  const client = cluster.client(test, server.port)
  const who = { userId: 'ann', email: 'ann@localhost', sessionId: 'session-1', address: '192.0.2.9' }
  const ask = async (path: string) => {
    const { status, body } = await client.forward(get(`/api/v1${path}`, { who }))
    return [status, JSON.parse(await textOf(body)).code]
  }
  test.same(await ask('/lb3/hello/1'), [404, 'NOT_FOUND'])
  test.same(await ask('/lb1/hello/1'), [404, 'NOT_FOUND'], 'not back either')
  test.same(doings.asked.splice(0), ['session-1 192.0.2.9', 'session-1 192.0.2.9'])
  test.same(await ask('/everywhere'), [404, 'UNKNOWN_ENDPOINT'])
  test.same(await ask('/nowhere'), [404, 'UNKNOWN_ENDPOINT'])
  test.same(doings.asked, [], 'no user was even looked up')
  test.same(await ask('/lb2/hello/1'), [200, undefined])
})

t.test('a request whose caller is gone is not begun', async (test) => {
  const doings = new Doings()
  const request = { ...get('/api/v1/lb2/hello/1'), signal: AbortSignal.abort(), from: 'lb1', body: undefined as never }
  await test.rejects(pipelineOf('lb2', doings).handleForwarded(request))
  test.same(doings.asked, [])
})

const answer = { status: 200, contentType: 'text/plain', headers: { ETag: '"1"' }, body: 'ä' }

t.test('bytes are sent with their length, and copied where they are about to change', async (test) => {
  test.match(forPeer(answer), {
    status: 200,
    headers: { 'content-length': '2', 'content-type': 'text/plain', ETag: '"1"' },
  })
  const bytes = Buffer.from('now')
  const { body } = forPeer({ ...answer, body: bytes, isTransient: true })
  bytes.fill('?')
  test.same(body, Buffer.from('now'))
  test.equal(forPeer({ ...answer, status: 304, body: '' }).body, undefined)
})

t.test('a lasting answer has a place until it is over; without one it is refused', async (test) => {
  const stream = () => () => undefined
  const held = Array.from({ length: 32 }, () => forPeer({ ...answer, stream, holder: 'ann' }))
  test.ok(held.every(({ status }) => status === 200))
  const refused = forPeer({ ...answer, stream, holder: 'ann' })
  test.match(refused, { status: 429, body: /TOO_MANY_AT_ONCE/ })
  for (const { body } of held) (body as { destroy?(): void }).destroy?.()
  await new Promise(setImmediate)
  const again = forPeer({ ...answer, stream, holder: 'ann' })
  test.equal(again.status, 200)
  ;(again.body as { destroy?(): void }).destroy?.()
})
