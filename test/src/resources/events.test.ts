import t from 'tap'
import type { Stream } from '../../../src/context/rendered.ts'
import type { Received } from '../../fixtures/appliance.ts'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

/** Returns what a stream has written so far. */
function follow(stream: Stream | undefined) {
  const written: string[] = []
  const stop = stream?.({ write: (text) => void written.push(String(text)), end: () => void written.push('END') })
  return { written, stop }
}

t.test('an apply is reported to followers, and to a client that comes back with its last number', async (test) => {
  const { call, appliance, token } = await borrow()
  const open = async (query: string, headers: Record<string, string> = {}) => {
    const answer = await appliance.inject({
      method: 'GET',
      path: '/api/v1/events',
      query,
      address: '192.0.2.1',
      header: (name) => ({ authorization: `Bearer ${token}`, ...headers })[name] ?? '',
      isAmbiguous: false,
      readBody: async () => undefined,
    })
    test.equal(answer.contentType, 'text/event-stream')
    const followed = follow(answer.stream)
    test.teardown(() => followed.stop?.())
    return followed
  }
  const all = await open('')
  const logins = await open('kinds=login,node')
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web', ip: '192.0.2.9', port: 80 } })
  await call('PUT', '/services/apply', { body: { comment: 'why' } })
  await new Promise((resolve) => setTimeout(resolve, 50))
  const told = all.written.find((text) => text.includes('event: apply')) ?? ''
  test.match(told, /^id: (\d+)\nevent: apply\ndata: \{.*"state":"applied".*"comment":"why".*\}\n\n$/)
  test.notMatch(logins.written.join(''), /event: apply/)
  const id = Number(/^id: (\d+)/.exec(told)?.[1])
  test.match((await open('', { 'last-event-id': String(id - 1) })).written.join(''), /event: apply/)
  test.match((await open(`after=${id - 1}&kinds=apply`)).written.join(''), /event: apply/)
  test.notMatch((await open('', { 'last-event-id': String(id) })).written.join(''), /event: apply/)
  test.match((await open('', { 'last-event-id': '999999' })).written.join(''), /event: reset/)
})

t.test('an invalid kind or number is refused', async (test) => {
  const { call } = await borrow()
  const refused = (answer: Received) => test.match(answer.json, { code: 'INVALID_QUERY' })
  refused(await call('GET', '/events?kinds=weather'))
  refused(await call('GET', '/events?after=-1'))
  refused(await call('GET', '/events', { headers: { 'last-event-id': 'x' } }))
})
