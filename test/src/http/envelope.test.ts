import t from 'tap'
import { endpoint, NoData } from '../../../src/api/endpoint.ts'
import { Reply } from '../../../src/api/reply.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { collect, failure, answerWith, success } from '../../../src/http/envelope.ts'

t.test('success leaves data out when there is none, and keeps null, 0 and []', async (test) => {
  test.equal(success(200, 'pong', undefined).body, '{"status":"success","message":"pong"}')
  test.equal(success(201, 'm', null).body, '{"status":"success","message":"m","data":null}')
  test.equal(success(200, 'm', 0).body, '{"status":"success","message":"m","data":0}')
  const answer = success(201, 'm', [], { ETag: '"7"' })
  test.match(answer, { status: 201, contentType: 'application/json', headers: { ETag: '"7"' } })
  test.equal(answer.body, '{"status":"success","message":"m","data":[]}')
})

t.test('a refusal carries its code, and fields and data only when there are some', async (test) => {
  const plain = failure(new ApiError('NOT_FOUND', 'no such thing'))
  test.equal(plain.status, 404)
  test.equal(plain.body, '{"status":"error","message":"no such thing","code":"NOT_FOUND"}')
  test.same(plain.headers, {})
  const errors = [{ field: 'a', code: 'REQUIRED', message: 'is required' }]
  const full = failure(new ApiError('INVALID_BODY', 'm', { errors, data: { a: 1 }, headers: { 'X-A': 'b' } }))
  test.same(JSON.parse(String(full.body)), {
    status: 'error',
    message: 'm',
    code: 'INVALID_BODY',
    errors,
    data: { a: 1 },
  })
  test.same(full.headers, { 'X-A': 'b' })
})

t.test('the answer of a handler: its message filled in, the revision it read as tag of a GET', async (test) => {
  const of = (method: 'GET' | 'PUT') =>
    endpoint({
      name: 'n',
      path: '/n/{id}',
      effect: 'read',
      staged: false,
      summary: 's',
      method,
      message: 'Read {id}',
      data: NoData,
      handle: () => [],
    })
  test.match(answerWith(of('GET'), { id: '7' }, [], '3'), { status: 200, headers: { ETag: '"3"' }, body: /"Read 7"/ })
  test.same(answerWith(of('GET'), { id: '7' }, [], undefined).headers, {})
  test.same(answerWith(of('PUT'), { id: '7' }, [], '3').headers, {})
  const own = Reply.with([], { message: 'other', headers: { 'X-A': 'b' } })
  test.match(answerWith(of('GET'), {}, own, '3'), { headers: { 'X-A': 'b', ETag: '"3"' }, body: /"other"/ })
})

t.test('every 401 requires a token, beside the headers of the refusal', async (test) => {
  for (const code of ['UNAUTHENTICATED', 'TOKEN_EXPIRED', 'INVALID_CREDENTIALS'] as const) {
    test.same(failure(new ApiError(code, 'm', { headers: { 'X-A': 'b' } })).headers, {
      'WWW-Authenticate': 'Bearer',
      'X-A': 'b',
    })
  }
  test.same(failure(new ApiError('PERMISSION_DENIED', 'm')).headers, {})
})

t.test('an answer for a caller without a socket: slices in one piece, its own bytes', async (test) => {
  const shared = Buffer.from('one')
  const answer = { status: 200, contentType: 'text/plain', body: shared, headers: {} }
  test.equal(collect(answer), answer, 'nothing to do')
  const kept = collect({ ...answer, isTransient: true })
  shared.write('two')
  test.same(kept, { ...answer, body: Buffer.from('one') })
  const parts = function* (reason?: string) {
    for (const text of ['a', 'b']) {
      shared.fill(text)
      yield shared
    }
    return reason
  }
  test.same(collect({ ...answer, slices: () => parts() }).body, Buffer.from('aaabbb'))
  test.throws(() => collect({ ...answer, slices: () => parts('gone') }), /gone/)
})
