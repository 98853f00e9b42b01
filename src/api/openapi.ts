import { ERRORS } from '../base/errors.ts'
import { endpointId } from './access.ts'
import { documentedPath } from './documented-path.ts'
import type { Endpoint } from './endpoint.ts'
import { describe } from './openapi-descriptions.ts'
import { HEADERS, type Json, plain, Responses } from './openapi-responses.ts'
import { parametersOf, SharedParameters } from './openapi-parameters.ts'
import { defaultsOf, withDefaults } from './openapi-defaults.ts'
import { readExamples, withExample } from './openapi-examples.ts'
import { Shapes } from './openapi-schemas.ts'
import { describedTags } from './openapi-tags.ts'

const FIELD_ERROR: Json = {
  type: 'object',
  required: ['field', 'code', 'message'],
  properties: {
    field: { type: 'string', description: 'Dotted path of the field.' },
    code: { type: 'string', description: 'What is wrong with it, such as REQUIRED, TYPE, OUT_OF_RANGE or UNKNOWN.' },
    message: { type: 'string', description: 'Description of the problem.' },
  },
}

const ERROR: Json = {
  type: 'object',
  required: ['status', 'message', 'code'],
  properties: {
    status: { type: 'string', const: 'error', description: 'Always `error`.' },
    message: { type: 'string', description: 'What went wrong, and what to do next.' },
    code: { type: 'string', enum: Object.keys(ERRORS), description: 'Stable error code.' },
    errors: {
      type: 'array',
      items: { $ref: '#/components/schemas/FieldError' },
      description: 'One entry per field with a problem.',
    },
    data: { description: 'Details for some codes, such as data.usage for IN_USE.' },
  },
}

/** Returns the OpenAPI 3.1 document of an endpoint table. */
export function openapiDocument(table: readonly Endpoint[], version: string): Json {
  const endpoints = table.filter((endpoint) => !endpoint.permissionOnly)
  const responses = new Responses()
  const operations = endpoints.map((endpoint) => [endpoint, operation(endpoint, responses, endpoints)] as const)
  const shapes = new Shapes(operations)
  const parameters = new SharedParameters(operations)
  const examples = readExamples()
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [endpoint, inline] of operations) {
    const path = (paths[documentedPath(endpoint)] ??= {})
    const own = inline['parameters'] as readonly Json[] | undefined
    const named = {
      ...(shapes.replace(inline) as Json),
      ...(own === undefined ? {} : { parameters: parameters.of(own) }),
    }
    path[endpoint.method.toLowerCase()] = withExample(named, endpoint, examples[endpoint.name])
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Fulcrum appliance management API',
      version,
      description:
        'Management of load-balancing appliances. Changes are staged and take effect with PUT /services/apply. If a request matches two paths, the one whose first differing segment is literal applies.',
      contact: { name: 'Fulcrum' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/api/v1' }],
    ...describedTags([...new Set(endpoints.map(tag))]),
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      schemas: { Error: ERROR, FieldError: FIELD_ERROR, ...shapes.components() },
      parameters: parameters.shared,
      headers: HEADERS,
      responses: responses.shared,
    },
  }
}

const tag = (endpoint: Endpoint) => endpoint.name.split('.')[0] ?? endpoint.name

function operation(endpoint: Endpoint, responses: Responses, table: readonly Endpoint[]): Json {
  const parameters = parametersOf(endpoint)
  return {
    operationId: endpoint.name,
    summary: endpoint.summary,
    description: describe(endpoint),
    tags: [tag(endpoint)],
    security: endpoint.access === 'public' ? [] : [{ bearer: [] }],
    ...(documentedPath(endpoint) === endpoint.path ? {} : { 'x-specified-path': endpoint.path }),
    'x-endpoint-id': endpointId(endpoint),
    'x-staged': endpoint.staged,
    'x-effect': endpoint.effect,
    'x-access': endpoint.access,
    ...(endpoint.extension ? { 'x-extension': true } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(endpoint.body === undefined
      ? {}
      : { requestBody: requestBody(withDefaults(plain(endpoint.body), defaultsOf(endpoint, table)), endpoint) }),
    responses: responses.of(endpoint),
  }
}

function requestBody(body: Json, { isForm, needsOneOf }: Endpoint): Json {
  const oneOf = needsOneOf.map((names) => ({ anyOf: names.map((name) => ({ required: [name] })) }))
  const schema: Json = { ...body, ...(oneOf.length === 0 ? {} : { allOf: oneOf }) }
  const required = Array.isArray(schema['required']) && schema['required'].length > 0
  const form = isForm ? { 'application/x-www-form-urlencoded': { schema } } : {}
  return { required, content: { ...form, 'application/json': { schema } } }
}
