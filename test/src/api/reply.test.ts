import t from 'tap'
import { accept, begun, fillMessage, placeholders, Reply } from '../../../src/api/reply.ts'

t.test('placeholders are filled from parameters first, then from data', async (test) => {
  test.equal(fillMessage('Record {id} stored', { id: 'a' }, { id: 'b' }), 'Record a stored')
  test.equal(fillMessage('Record {id} stored', {}, { id: 'b' }), 'Record b stored')
  test.equal(fillMessage('{count} of {id}', { id: 'a' }, { count: 0 }), '0 of a')
})

t.test('a placeholder without a value stays, and so do values that are no text', async (test) => {
  for (const data of [undefined, null, [], 'text', {}, { id: null }, { id: { x: 1 } }]) {
    test.equal(fillMessage('Record {id}', {}, data), 'Record {id}')
  }
})

t.test('text of a caller is text, never a template', async (test) => {
  test.equal(fillMessage('{id} and {name}', { id: '{name}', name: '$&' }, {}), '{name} and $&')
})

t.test('the placeholders of a message', async (test) => {
  test.same(placeholders('Service {service} {verb} on {applianceId}'), ['service', 'verb', 'applianceId'])
  test.same(placeholders('nothing to fill'), [])
})

t.test('an answer is either data or bytes', async (test) => {
  const bytes = Reply.bytes({ body: 'x', contentType: 'text/plain' })
  test.match(bytes, { data: undefined, rendered: { body: 'x', contentType: 'text/plain' }, message: undefined })
  const plain = Reply.with([1], { message: 'done', headers: { 'X-Dry-Run': 'true' } })
  test.match(plain, { data: [1], rendered: undefined, message: 'done', headers: { 'X-Dry-Run': 'true' } })
  test.same(Reply.with(1, {}).headers, {})
})

t.test('the id of a continuing job is beside data, and its path in Location', async (test) => {
  const reply = accept('j1', [], { message: 'm' })
  test.match(reply, {
    data: [],
    status: 202,
    message: 'm',
    beside: { job: 'j1' },
    headers: { Location: '/api/v1/jobs/j1' },
  })
  test.equal(accept('j1', undefined).data, undefined)
  const recorded = begun({ job: 'j2', isDryRun: true }, [], 'Recorded only')
  test.match(recorded, {
    status: 202,
    message: 'Recorded only',
    headers: { 'X-Dry-Run': 'true', Location: '/api/v1/jobs/j2' },
  })
  test.same(begun({ job: 'j3', isDryRun: false }, [], 'Recorded only').headers, { Location: '/api/v1/jobs/j3' })
})
