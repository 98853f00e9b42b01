import t from 'tap'
import { type Endpoint, endpoint, type Method } from '../../../src/api/endpoint.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { answerOptions, decodeSegment, Router } from '../../../src/http/router.ts'

const at = (method: Method, path: string): Endpoint =>
  endpoint({
    name: `${method} ${path}`,
    method,
    path,
    effect: 'read',
    staged: false,
    summary: '',
    message: '',
    handle: () => undefined,
  })

const router = new Router('/api/v1', [
  at('GET', '/things'),
  at('POST', '/things'),
  at('GET', '/things/hanging'),
  at('GET', '/things/{id}'),
  at('PUT', '/things/{id}/drain'),
  at('GET', '/{applianceId}/stats'),
  at('GET', '/{applianceId}/stats/rips/backend/{id}'),
  at('GET', '/{applianceId}/stats/rips/{id}'),
])

function found(method: string, path: string) {
  const match = router.find(method, path)
  return 'route' in match ? [match.route.endpoint.path, ...match.values] : match.allow
}

t.test('a fixed segment wins over a parameter', async (test) => {
  test.same(found('GET', '/api/v1/things/hanging'), ['/things/hanging'])
  test.same(found('GET', '/api/v1/things/42'), ['/things/{id}', '42'])
  test.same(found('GET', '/api/v1/n1/stats/rips/backend/7'), ['/{applianceId}/stats/rips/backend/{id}', 'n1', '7'])
  test.same(found('GET', '/api/v1/n1/stats/rips/backend'), ['/{applianceId}/stats/rips/{id}', 'n1', 'backend'])
})

t.test('a parameter may have the name of a fixed segment elsewhere', async (test) => {
  test.same(found('GET', '/api/v1/things/stats'), ['/things/{id}', 'stats'])
  test.same(found('PUT', '/api/v1/things/x/drain'), ['/things/{id}/drain', 'x'])
})

t.test('a known path with another method answers its methods', async (test) => {
  test.same(found('DELETE', '/api/v1/things'), ['GET', 'HEAD', 'POST', 'OPTIONS'])
})

t.test('HEAD finds the same as GET, and one trailing slash is ignored', async (test) => {
  test.same(found('HEAD', '/api/v1/things/42'), ['/things/{id}', '42'])
  test.same(found('GET', '/api/v1/things/'), ['/things'])
  test.same(found('GET', '/api/v1/things/42/'), ['/things/{id}', '42'])
  test.same(found('HEAD', '/api/v1/things/42/drain'), ['PUT', 'OPTIONS'], 'there is nothing to get')
})

t.test('an empty id at the end cannot delete everything', async (test) => {
  const pending = new Router('/api/v1', [
    at('DELETE', '/pending'),
    at('DELETE', '/pending/{id}'),
    at('GET', '/pending'),
  ])
  test.match(pending.find('DELETE', '/api/v1/pending'), { route: { endpoint: { path: '/pending' } } })
  test.same(pending.find('DELETE', '/api/v1/pending/'), { allow: [] })
  test.match(pending.find('DELETE', '/api/v1/pending/42/'), { route: { endpoint: { path: '/pending/{id}' } } })
  test.match(pending.find('GET', '/api/v1/pending/'), { route: { endpoint: { path: '/pending' } } })
})

t.test('OPTIONS answers 204 with the methods of the path; a path without any is unknown', async (test) => {
  const answer = answerOptions(router.find('OPTIONS', '/api/v1/things/'))
  test.match(answer, { status: 204, body: '', headers: { Allow: 'GET, HEAD, POST, OPTIONS' } })
  test.throws(() => answerOptions(router.find('OPTIONS', '/api/v1/none/of/it')), { code: 'UNKNOWN_ENDPOINT' })
})

t.test('nothing else is normalised', async (test) => {
  for (const path of [
    '/api/v1/things//',
    '/api/v1//things',
    '/api/v1/./things',
    '/API/V1/things',
    '/things',
    '/api/v1',
    '/api/v1/things//drain',
    '/api/v1/Things',
  ]) {
    test.same(found('GET', path), [], path)
  }
})

t.test('a parameter is decoded; a broken encoding is refused', async (test) => {
  test.equal(decodeSegment('a-b'), 'a-b')
  test.equal(decodeSegment('a%20%C3%BC'), 'a ü')
  test.throws(
    () => decodeSegment('%zz'),
    new ApiError('MALFORMED_REQUEST', 'The path contains an invalid percent-encoding'),
  )
})
