import { Type } from 'typebox'
import t from 'tap'
import { endpointId } from '../../../src/api/access.ts'
import { type Endpoint, endpoint, NoData } from '../../../src/api/endpoint.ts'
import { type ErrorCode, ERRORS } from '../../../src/base/errors.ts'
import { closed, Ip } from '../../../src/model/fields.ts'
import { endpoints } from '../../../src/resources/index.ts'
import { problems } from '../../fixtures/described.ts'
import { documentOf } from '../../fixtures/openapi-document.ts'
import type { Json } from '../../fixtures/read-document.ts'

const common = { method: 'GET', effect: 'read', staged: false, summary: 's', message: 'm' } as const

/** The document as a reader gets it. */
const jsonOf = (...table: readonly Endpoint[]): Json => documentOf(table).json
function operationOf(made: Endpoint): Json {
  const document = documentOf([made])
  return document.inline(document.operation(made))
}

t.test('an operation has the fields of the literal', async (test) => {
  const made = endpoint({
    ...common,
    name: 'things.update',
    method: 'PUT',
    path: '/{applianceId}/things/{id}',
    effect: 'stage',
    staged: true,
    extension: true,
    body: closed({ ip: Ip, comment: Type.Optional(Type.String()) }),
    handle: () => undefined,
  })
  const operation = operationOf(made)
  test.match(operation, {
    operationId: 'things.update',
    tags: ['things'],
    security: [{ bearer: [] }],
    'x-endpoint-id': endpointId(made),
    'x-staged': true,
    'x-effect': 'stage',
    'x-access': 'granted',
    'x-extension': true,
  })
  test.match(operation.parameters, [
    { name: 'applianceId', in: 'path', required: true, description: 'Id of the answering node.' },
    { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
  ])
  test.equal(operation.requestBody.required, true)
  test.match(operation.requestBody.content['application/json'].schema, {
    required: ['ip'],
    additionalProperties: false,
  })
})

t.test('a public endpoint requires no token; one of the specification is not marked as an extension', async (test) => {
  const operation = operationOf(
    endpoint({ ...common, name: 'ping', path: '/ping', access: 'public', data: NoData, handle: () => [] }),
  )
  test.same(operation.security, [])
  test.notOk('x-extension' in operation)
  test.notOk('parameters' in operation)
  test.notOk('requestBody' in operation)
  test.notOk('401' in operation.responses)
})

t.test('a body of optional fields may be left out', async (test) => {
  const body = closed({ comment: Type.Optional(Type.String()) })
  const made = endpoint({
    ...common,
    name: 'a.b',
    method: 'PUT',
    path: '/a',
    effect: 'stage',
    body,
    handle: () => undefined,
  })
  test.equal(operationOf(made).requestBody.required, false)
})

t.test('query parameters are listed, with the required ones marked', async (test) => {
  const query = closed({
    start: Type.Integer({ minimum: 0, description: 'Start.' }),
    metrics: Type.Optional(Type.String({ description: 'Metrics.' })),
  })
  test.match(operationOf(endpoint({ ...common, name: 'a.b', path: '/a', query, handle: () => undefined })).parameters, [
    { name: 'start', in: 'query', required: true, schema: { type: 'integer', minimum: 0 }, description: 'Start.' },
    { name: 'metrics', in: 'query', required: false, description: 'Metrics.' },
  ])
})

t.test('data is described in its envelope, under the status of the answer', async (test) => {
  const create = endpoint({
    ...common,
    name: 'a.b',
    method: 'POST',
    path: '/a',
    effect: 'stage',
    status: 201,
    data: NoData,
    handle: () => [],
  })
  const { responses } = operationOf(create)
  test.same(
    Object.keys(responses).filter((status) => status < '400'),
    ['201'],
  )
  const { schema } = responses['201'].content['application/json']
  test.same(schema.required, ['status', 'message', 'data'])
  test.match(schema.properties, { status: { const: 'success' }, data: { type: 'array', maxItems: 0 } })
  const bare = operationOf(endpoint({ ...common, name: 'a.b', path: '/a', handle: () => undefined }))
  test.same(bare.responses['200'].content['application/json'].schema.required, ['status', 'message'])
})

t.test('other types than JSON are text, beside the envelope', async (test) => {
  const produces = ['application/json', 'text/csv']
  const made = endpoint({ ...common, name: 'a.b', path: '/a', produces, data: Type.Integer(), handle: () => 1 })
  const { content } = operationOf(made).responses['200']
  test.same(Object.keys(content), produces)
  test.same(content['text/csv'], { schema: { type: 'string' } })
})

t.test('methods of one path share it; tags are named once', async (test) => {
  const read = endpoint({ ...common, name: 'things.get', path: '/things', handle: () => undefined })
  const write = endpoint({
    ...common,
    name: 'things.put',
    method: 'PUT',
    path: '/things',
    effect: 'stage',
    handle: () => undefined,
  })
  const document = jsonOf(read, write)
  test.same(Object.keys(document.paths), ['/things'])
  test.same(Object.keys(document.paths['/things']), ['get', 'put'])
  test.same(document.tags, [{ name: 'things' }])
  test.match(document, { openapi: '3.1.0', info: { version: '1.2.3' }, servers: [{ url: '/api/v1' }] })
})

t.test('headers that the endpoint reads are listed', async (test) => {
  const headers = ['x-backup-passphrase']
  test.match(
    operationOf(endpoint({ ...common, name: 'a.b', path: '/a', headers, handle: () => undefined })).parameters,
    [{ name: 'x-backup-passphrase', in: 'header', required: false, description: /Passphrase/ }],
  )
})

t.test('every code of the daemon is in an operation, with its status and meaning', async (test) => {
  const { components, paths } = jsonOf(...endpoints)
  test.same(components.schemas.Error.properties.code.enum, Object.keys(ERRORS))
  const listed = new Set<string>()
  const wrong = new Set<string>()
  for (const operation of Object.values<Json>(paths).flatMap((path) => Object.values<Json>(path))) {
    for (const [status, { $ref }] of Object.entries<Json>(operation.responses).filter(([key]) => key >= '400')) {
      const { description, content } = components.responses[String($ref).split('/').pop() ?? '']
      for (const code of content['application/json'].schema.allOf[1].properties.code.enum as ErrorCode[]) {
        const isTold = description.includes(`\`${code}\`: ${ERRORS[code].meaning}`)
        if (!isTold || String(ERRORS[code].status) !== status) wrong.add(code)
        listed.add(code)
      }
    }
  }
  test.same([...wrong], [])
  // Of paths that no operation has.
  test.same(
    Object.keys(ERRORS).filter((code) => !listed.has(code)),
    ['UNKNOWN_ENDPOINT'],
  )
})

t.test('optional fields of a creation have the default that null stands for', async (test) => {
  const { json } = documentOf(endpoints)
  const { properties, required } = json.components.schemas.L7BackendInput
  test.match(properties, {
    balance: { default: 'roundrobin' },
    timeoutServer: { default: 30 },
    enabled: { default: true },
  })
  test.same(properties.healthCheck, { $ref: '#/components/schemas/HealthCheckSettingInput', default: { type: 'tcp' } })
  test.notOk(required.some((name: string) => 'default' in properties[name]))
  test.notOk('default' in json.components.schemas.HealthCheckSettingInput)
  test.match(
    json.components.schemas.HealthCheckParameter.properties,
    { default: { type: 'string' } },
    'a field, no default',
  )
})

t.test('every default is valid for its field', async (test) => {
  const document = documentOf(endpoints)
  let told = 0
  for (const made of endpoints.filter(({ name, body }) => name.endsWith('.create') && body !== undefined)) {
    const { schema } = document.operation(made).requestBody.content['application/json']
    for (const [field, { default: usual, ...rest }] of Object.entries<Json>(document.resolved(schema).properties)) {
      if (usual === undefined) continue
      test.equal(problems(rest, usual), '', `${made.name} ${field}`)
      told += 1
    }
  }
  test.ok(told > 40, `${told} defaults`)
})
