import t from 'tap'
import { ApiError } from '../../../src/base/errors.ts'
import { admit, type Authenticate, explainDenial, mayAsk, NOBODY } from '../../../src/http/admission.ts'
import { endpoints } from '../../../src/resources/index.ts'
import { refuses } from '../../fixtures/config.ts'

const named = (name: string) => {
  const endpoint = endpoints.find((candidate) => candidate.name === name)
  if (endpoint === undefined) throw new Error(name)
  return endpoint
}
const incoming = (authorization: string) => ({ header: () => authorization }) as never
const rights = { userId: 'u', email: 'e', granted: Uint8Array.of(0, 1) }

t.test('a public endpoint requires no user, every other a known token', async (test) => {
  const authenticate: Authenticate = (proof) =>
    proof === 'good' ? { rights, sessionId: 's' } : new ApiError('TOKEN_EXPIRED', 'no')
  test.equal(admit(named('auth.login'), incoming(''), authenticate).actor, NOBODY)
  const endpoint = named('services.apply')
  test.match(admit(endpoint, incoming('Bearer good'), authenticate), {
    actor: { userId: 'u', sessionId: 's' },
    rights,
  })
  await refuses(test, 'UNAUTHENTICATED', () => admit(endpoint, incoming(''), authenticate))
  await refuses(test, 'UNAUTHENTICATED', () => admit(endpoint, incoming('Basic good'), authenticate))
  await refuses(test, 'TOKEN_EXPIRED', () => admit(endpoint, incoming('Bearer old'), authenticate))
})

t.test('a right is a byte at the index of the endpoint', async (test) => {
  const route = { endpoint: named('services.apply'), names: [] }
  test.notOk(mayAsk({ ...route, index: 0 }, { rights }))
  test.ok(mayAsk({ ...route, index: 1 }, { rights }))
  test.notOk(mayAsk({ ...route, index: 2 }, { rights }), 'beyond the table')
  test.notOk(mayAsk({ ...route, index: 0 }, { rights: undefined }))
  test.match(explainDenial(route.endpoint), /PUT \/services\/apply/)
})
