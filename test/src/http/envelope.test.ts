import t from 'tap'
import { ApiError } from '../../../src/errors.ts'
import { failure, matches, rendered, success } from '../../../src/http/envelope.ts'

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

t.test('every 401 asks for a token, beside the headers of the refusal', async (test) => {
  for (const code of ['UNAUTHENTICATED', 'TOKEN_EXPIRED', 'INVALID_CREDENTIALS'] as const) {
    test.same(failure(new ApiError(code, 'm', { headers: { 'X-A': 'b' } })).headers, {
      'WWW-Authenticate': 'Bearer',
      'X-A': 'b',
    })
  }
  test.same(failure(new ApiError('PERMISSION_DENIED', 'm')).headers, {})
})

t.test('prepared bytes keep their type, tag, age and headers', async (test) => {
  const body = Buffer.from('x')
  const ready = { body, contentType: 'text/plain', etag: '"t"', cacheControl: 'no-cache', headers: { 'X-A': 'b' } }
  const answer = rendered(ready, '')
  test.equal(answer.body, body, 'not copied')
  test.match(answer, { status: 200, contentType: 'text/plain' })
  test.same(answer.headers, { 'X-A': 'b', ETag: '"t"', 'Cache-Control': 'no-cache' })
  test.same(rendered({ body: '' }, ''), { status: 200, contentType: 'application/json', body: '', headers: {} })
})

t.test('who has the bytes gets 304 with the same headers and no body', async (test) => {
  const ready = { body: 'x', etag: '"t"', cacheControl: 'no-cache', headers: { 'X-A': 'b' } }
  const answer = rendered(ready, '"t"')
  test.match(answer, { status: 304, body: '' })
  test.same(answer.headers, { 'X-A': 'b', ETag: '"t"', 'Cache-Control': 'no-cache' })
  test.equal(rendered(ready, '"other"').status, 200)
  test.equal(rendered({ body: 'x' }, '*').status, 200, 'without a tag there is nothing to match')
})

t.test('If-None-Match: lists, weak tags and the star', async (test) => {
  for (const sent of ['"t"', 'W/"t"', '"a", "t"', '"a",W/"t" , "b"', '*']) test.ok(matches(sent, '"t"'), sent)
  for (const sent of ['"T"', 't', '"tt"', '"a", "b"', 'W/t', '']) test.notOk(matches(sent, '"t"'), sent)
})
