import t, { type Test } from 'tap'
import { assertDescribed, type Exchanged } from '../fixtures/described.ts'

const JSON_HEADERS = { 'content-type': 'application/json', 'x-request-id': '1' }
const REAL = { id: 'a', name: 'web1', ip: '192.0.2.1', port: 80, weight: 100, state: 'online', health: 'up' }
const read: Exchanged = {
  method: 'GET',
  path: '/ipvsDirector/rips/a',
  body: '',
  contentType: '',
  status: 200,
  headers: JSON_HEADERS,
  text: JSON.stringify({ status: 'success', message: 'Real server', data: REAL }),
}
const answered = (data: object, more: object = {}) => JSON.stringify({ status: 'success', message: 'm', data, ...more })
const refused = (code: string, more: object = {}) => JSON.stringify({ status: 'error', message: 'm', code, ...more })

const fails = (test: Test, what: RegExp, more: Partial<Exchanged>) =>
  test.throws(() => assertDescribed({ ...read, ...more }), { message: what }, String(what))

t.test('an answer that matches the document', async (test) => {
  test.doesNotThrow(() => assertDescribed(read))
  test.doesNotThrow(() => assertDescribed({ ...read, method: 'HEAD', text: '' }))
  const headers = { 'content-type': 'application/json' }
  test.doesNotThrow(() => assertDescribed({ ...read, headers, isInProcess: true }), 'the socket adds its headers')
  test.doesNotThrow(() => assertDescribed({ ...read, headers: undefined }), 'a client that sees no headers')
})

t.test('a status, a type, a field or a header that the document does not have', async (test) => {
  fails(test, /it has no 202/, { status: 202 })
  fails(test, /it has no text\/html/, { headers: { ...JSON_HEADERS, 'content-type': 'text/html' } })
  fails(test, /X-Request-Id is missing/, { headers: { 'content-type': 'application/json' } })
  fails(test, /it has no header x-secret/, { headers: { ...JSON_HEADERS, 'x-secret': '1' } })
  fails(test, /NOT have additional properties.*extra/, { text: answered({ ...REAL, extra: 1 }) })
  fails(test, /NOT have additional properties.*job/, { text: answered(REAL, { job: 'x' }) })
  fails(test, /required property 'name'/, { text: answered({ ...REAL, name: undefined }) })
  fails(test, /\/data\/weight/, { text: answered({ ...REAL, weight: 'heavy' }) })
})

t.test('a refusal that cannot occur there, or without its header', async (test) => {
  fails(test, /allowed values/, { status: 404, text: refused('UNKNOWN_ENDPOINT') })
  fails(test, /WWW-Authenticate is missing/, { status: 401, text: refused('UNAUTHENTICATED') })
  const late = { ...JSON_HEADERS, 'retry-after': 'soon' }
  fails(test, /header Retry-After/, { status: 429, headers: late, text: refused('TOO_MANY_AT_ONCE') })
  test.doesNotThrow(() => assertDescribed({ ...read, status: 404, text: refused('NOT_FOUND') }))
})

t.test('a path or method that is not served', async (test) => {
  const nowhere = { ...read, path: '/nope', status: 404, text: refused('UNKNOWN_ENDPOINT') }
  test.doesNotThrow(() => assertDescribed(nowhere))
  fails(test, /404 only/, { ...nowhere, status: 200 })
  const method = { ...read, method: 'PATCH', status: 405, text: refused('METHOD_NOT_ALLOWED') }
  fails(test, /Allow/, method)
  test.doesNotThrow(() =>
    assertDescribed({ ...method, headers: { ...JSON_HEADERS, allow: 'GET, HEAD, PUT, DELETE, OPTIONS' } }),
  )
})

t.test('an accepted request, and a refused one, have to match the document', async (test) => {
  const create = { ...read, method: 'POST', path: '/ipvsDirector/rips', contentType: 'application/json', status: 201 }
  const taken = (body: object, path = create.path) => ({
    ...create,
    path,
    body: JSON.stringify(body),
    text: answered({ id: 'a' }),
  })
  const body = { name: 'web1', ip: '192.0.2.1', port: 80 }
  test.doesNotThrow(() => assertDescribed(taken(body)))
  fails(test, /its request: .*colour/, taken({ ...body, colour: 'red' }))
  fails(test, /its request: .*'ip'/, taken({ ...body, ip: undefined }))
  fails(test, /it has no parameter deep/, taken(body, `${create.path}?deep=1`))
  test.doesNotThrow(() => assertDescribed(taken(body, `${create.path}?_=1`)))
  const errors = [{ field: 'weight', code: 'REQUIRED', message: 'is required' }]
  fails(test, /takes what is refused/, {
    ...create,
    status: 422,
    body: JSON.stringify(body),
    text: refused('INVALID_BODY', { errors }),
  })
})
