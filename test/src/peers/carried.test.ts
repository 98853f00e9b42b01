import t from 'tap'
import { HEADERS } from '../../../src/api/openapi-responses.ts'
import {
  CarriedError,
  carriedOfAnswer,
  carriedOfRequest,
  checkedPath,
  checkedRequestId,
  targetIn,
} from '../../../src/peers/carried.ts'
import { endpoints } from '../../../src/resources/index.ts'

const path = (text: string, query = '') => checkedPath({ method: 'GET', path: text, query })

t.test('plain paths are forwarded unchanged', (test) => {
  for (const text of [
    '/',
    '/api/v1/a',
    '/a//b',
    '/a/%C3%A9/b%20c',
    '/a/..b/c..',
    '/a/...',
    "/a/b:c@d;e=f,g!$&'()*+~",
  ]) {
    test.equal(path(text), text)
    test.same(targetIn({ ':method': 'GET', ':path': `${text}?a=..&b=/?` }), {
      method: 'GET',
      path: text,
      query: 'a=..&b=/?',
    })
  }
  test.equal(path('/a', 'b=c%0d&d=?'), '/a?b=c%0d&d=?')
  test.same(targetIn({}), { method: '', path: '', query: '' })
  test.end()
})

t.test('a path that leads elsewhere is not, however it is written', (test) => {
  const refused = ['', 'a', '*', 'http://evil.example/', '//evil.example/a', '/a/../b', '/a/..', '/..', '/./a', '/a/.']
  const hidden = ['/a/%2e%2e/b', '/a/.%2E/b', '/a%2f..%2fb', '/a/..%5cb', '/a\\..\\b', '/%2e', '/a/%2e%2e%2f']
  const broken = ['/a%', '/a%ff', '/a b', '/a\r\nX: y', '/a\0', '/é', '/a?b', '/a#b', `/${'a'.repeat(9_000)}`]
  for (const text of [...refused, ...hidden, ...broken]) test.throws(() => path(text), CarriedError, text)
  for (const query of ['a b', 'a\r\n', 'é', 'a#b', 'x'.repeat(9_000)])
    test.throws(() => path('/a', query), CarriedError)
  for (const method of ['', 'get', 'CONNECT', 'OPTIONS', 'GET ', 'GET\r\n']) {
    test.throws(() => checkedPath({ method, path: '/a', query: '' }), CarriedError, method)
  }
  test.end()
})

t.test('forwarded headers, and no others', (test) => {
  const kept = { accept: 'text/csv', 'if-match': '"7"', 'last-event-id': '9', 'x-transaction-id': 'tx' }
  const left = {
    authorization: 'Bearer x',
    cookie: 'a=b',
    connection: 'close',
    host: 'a',
    te: 'trailers',
    'transfer-encoding': 'chunked',
    'x-forwarded-for': '192.0.2.1',
    'proxy-authorization': 'x',
    'fulcrum-who': 'x',
    ':path': '/b',
  }
  test.same(carriedOfRequest({ ...left, ...kept }), kept)
  test.same(carriedOfRequest({ 'IF-MATCH': '"7"', Accept: '' }), { 'if-match': '"7"' }, 'an empty one is dropped')
  const answer = { 'content-type': 'text/csv', etag: '"7"', 'retry-after': '1' }
  const stays = { 'set-cookie': 'a=b', connection: 'close', 'fulcrum-refused': 'x', ':status': '200', server: 'x' }
  test.same(carriedOfAnswer({ ...answer, ...stays }), answer)
  test.end()
})

t.test('a value with further lines is refused', (test) => {
  const hostile = ['a\r\nauthorization: x', 'a\nb', 'a\0', 'é', '\u0100', ' a', 'a ', 'a\u007f']
  for (const accept of hostile) {
    test.throws(() => carriedOfRequest({ accept }), CarriedError, JSON.stringify(accept))
    test.throws(() => carriedOfAnswer({ vary: accept }), CarriedError, JSON.stringify(accept))
  }
  test.throws(() => carriedOfRequest({ accept: 'a'.repeat(17_000) }), /too long/)
  test.equal(checkedRequestId('0a-7'), '0a-7')
  for (const id of ['', 'a b', 'a\r\n', 'x'.repeat(129)]) test.throws(() => checkedRequestId(id), CarriedError)
  test.end()
})

/** Answered by the node that the browser uses. */
const OF_BROWSERS: ReadonlySet<string> = new Set(['cookie', 'sec-fetch-site', 'x-fulcrum-page'])

t.test('all headers that endpoints read and send are forwarded, except cookies', (test) => {
  const read = new Set(endpoints.flatMap(({ headers }) => headers))
  const common = [
    'accept',
    'accept-encoding',
    'content-length',
    'content-type',
    'if-match',
    'if-none-match',
    'x-transaction-id',
  ]
  for (const name of [...read, ...common]) {
    test.same(Object.keys(carriedOfRequest({ [name]: 'x' })), OF_BROWSERS.has(name) ? [] : [name], name)
  }
  // The node that was asked names the request.
  const sends = [...Object.keys(HEADERS), ...endpoints.flatMap((endpoint) => endpoint.sends)]
  const known = new Set(
    sends.map((name) => name.toLowerCase()).filter((name) => !['x-request-id', 'tag', 'elsewhere'].includes(name)),
  )
  for (const name of known) {
    test.same(Object.keys(carriedOfAnswer({ [name]: 'x' })), name === 'set-cookie' ? [] : [name], name)
  }
  test.end()
})
