import { Type } from 'typebox'
import t from 'tap'
import { type Endpoint, endpoint, NoData } from '../../../src/api/endpoint.ts'
import { plain, Responses } from '../../../src/api/openapi-responses.ts'

const common = {
  method: 'GET',
  path: '/a',
  name: 'a.b',
  effect: 'read',
  staged: false,
  summary: 's',
  message: 'm',
} as const
// oxlint-disable-next-line typescript/no-explicit-any -- a test looks into JSON of every shape
type Json = any
const of = (made: Endpoint): Json => new Responses().of(made)

t.test('a continuing job is answered with 202, its id beside data and its path in Location', async (test) => {
  const act = { ...common, method: 'PUT', effect: 'act' } as const
  const always = of(endpoint({ ...act, status: 202, handle: () => undefined }))
  test.notOk('200' in always)
  test.match(always['202'].headers, { Location: { $ref: '#/components/headers/Location' } })
  const { schema } = always['202'].content['application/json']
  test.same(schema.required, ['status', 'message', 'job'])
  test.notOk('data' in schema.properties)
  const sometimes = of(endpoint({ ...act, mayGoOn: true, data: NoData, handle: () => [] }))
  test.same(sometimes['200'].content['application/json'].schema.required, ['status', 'message', 'data'])
  test.same(sometimes['202'].content['application/json'].schema.required, ['status', 'message', 'data', 'job'])
})

t.test('an answer without an envelope is described as it is; one with a tag may be 304', async (test) => {
  const whole = Type.String({ description: 'HTML.' })
  const made = of(endpoint({ ...common, whole, isTagged: true, handle: () => undefined }))
  test.same(made['200'].content['application/json'].schema, { type: 'string', description: 'HTML.' })
  test.match(made['200'].headers, { ETag: { required: true } })
  test.match(made['304'], { headers: { ETag: { required: true } }, content: undefined })
})

t.test('an enumeration names the type of its values', async (test) => {
  const plainOf = (values: readonly (string | number)[]) => plain(Type.Enum([...values], { description: 'd' }))
  test.match(plainOf(['a', 'b']), { type: 'string', enum: ['a', 'b'] })
  test.match(plainOf(['', 0]), { type: ['string', 'number'] })
  const properties = { enum: Type.String(), kind: Type.Enum(['a']) }
  test.match(plain(Type.Object(properties)), {
    type: 'object',
    properties: { enum: { type: 'string' }, kind: { type: 'string' } },
  })
})

t.test('headers of refusals, which are defined once for all operations', async (test) => {
  const responses = new Responses()
  const update = { ...common, method: 'PUT', effect: 'act', handle: () => undefined } as const
  const [first, second] = ['/a', '/b'].map((path) => responses.of(endpoint({ ...update, path }))) as [Json, Json]
  test.same(first['401'], second['401'])
  const shared = (status: number): Json => {
    const name = Object.keys(responses.shared).find((one) => one.startsWith(`Error${status}_`)) ?? ''
    return responses.shared[name]
  }
  const OF_ALL = ['X-Request-Id', 'X-Fulcrum-Sequence', 'X-Cluster']
  test.same(Object.keys(shared(401).headers), [...OF_ALL, 'WWW-Authenticate'])
  test.same(Object.keys(shared(405).headers), [...OF_ALL, 'Allow'])
  test.same(Object.keys(shared(429).headers), [...OF_ALL, 'Retry-After'])
  test.same(Object.keys(shared(422).headers), OF_ALL)
  const busy = responses.of(endpoint({ ...update, refuses: ['APPLY_IN_PROGRESS', 'IN_USE'] })) as Json
  test.match(busy['409'], { $ref: '#/components/responses/Error409_IN_USE_APPLY_IN_PROGRESS' })
  test.match(shared(409).headers['Retry-After'], { required: false })
})
