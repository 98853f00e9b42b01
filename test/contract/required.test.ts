import t from 'tap'
import { endpoints } from '../../src/resources/index.ts'
import { applianceFixture, type Received } from '../fixtures/appliance.ts'
import { documentOf } from '../fixtures/openapi-document.ts'
import type { Json } from '../fixtures/read-document.ts'

/** Returns the fields that an empty body lacks, according to the daemon. */
const missed = ({ status, json }: Received): readonly string[] =>
  status === 422
    ? (json.errors ?? [])
        .filter(({ code, message }: Json) => code === 'REQUIRED' && message === 'is required')
        .map(({ field }: Json) => field)
    : []

/** Returns the same according to the document: of fields in two spellings, the first. */
const needed = ({ required = [], allOf = [] }: Json): readonly string[] => [
  ...required,
  ...allOf.map(({ anyOf }: Json) => anyOf[0].required[0]),
]

t.test('the document requires the same fields as the daemon', async (test) => {
  const { call, node } = await applianceFixture(test)
  const document = documentOf(endpoints)
  const withBody = endpoints.filter(({ body, permissionOnly }) => body !== undefined && !permissionOnly)
  test.ok(withBody.length > 50)
  for (const { name, method, path } of withBody) {
    const at = path.replace(/\{applianceI[dD]\}/, node).replaceAll(/\{\w+\}/g, 'x')
    const answer = await call(method, at, { body: {} })
    const schema = document.resolved(
      document.operation({ path, method }).requestBody.content['application/json'].schema,
    )
    test.same(missed(answer).toSorted(), needed(schema).toSorted(), `${name} ${answer.status} ${answer.text}`)
  }
})

t.test('a new user needs both names, in either spelling', async (test) => {
  const { call } = await applianceFixture(test)
  const user = { email: 'a@example.test', password: 'correct horse battery', disabled: false }
  for (const names of [{}, { firstname: 'A' }, { lastName: 'B' }]) {
    const answer = await call('POST', '/localUsers/users', { body: { ...user, ...names } })
    test.match(answer, { status: 422, json: { errors: [{ code: 'REQUIRED' }] } }, JSON.stringify(names))
  }
  const { status } = await call('POST', '/localUsers/users', { body: { ...user, firstName: 'A', lastname: 'B' } })
  test.equal(status, 201)
})
