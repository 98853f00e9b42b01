import type { TSchema } from 'typebox'
import { ERRORS } from '../errors.ts'
import { endpointId } from './access.ts'
import type { Endpoint } from './endpoint.ts'

type Json = Readonly<Record<string, unknown>>

const FIELD_ERROR: Json = {
  type: 'object',
  required: ['field', 'code', 'message'],
  properties: {
    field: { type: 'string', description: 'Dotted path of the field.' },
    code: { type: 'string', description: 'What is wrong with it, such as REQUIRED, TYPE, OUT_OF_RANGE or UNKNOWN.' },
    message: { type: 'string', description: 'The same for people.' },
  },
}

const ERROR: Json = {
  type: 'object',
  required: ['status', 'message', 'code'],
  properties: {
    status: { type: 'string', const: 'error', description: 'Always `error`.' },
    message: { type: 'string', description: 'What went wrong and what to do next.' },
    code: { type: 'string', enum: Object.keys(ERRORS), description: 'Stable code of the refusal.' },
    errors: { type: 'array', items: FIELD_ERROR, description: 'One entry per field with a problem.' },
    data: { description: 'Details of some codes, such as data.usage of IN_USE.' },
  },
}

/** TypeBox schemas are JSON Schema already; this drops what is not data. */
function plain(schema: TSchema): Json {
  return JSON.parse(JSON.stringify(schema)) as Json
}

/** The OpenAPI 3.1 document of an endpoint table. */
export function openapiDocument(table: readonly Endpoint[], version: string): Json {
  const endpoints = table.filter((endpoint) => !endpoint.permissionOnly)
  const paths: Record<string, Record<string, Json>> = {}
  for (const endpoint of endpoints) {
    const path = (paths[endpoint.path] ??= {})
    path[endpoint.method.toLowerCase()] = operation(endpoint)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Fulcrum appliance management API',
      version,
      description:
        'Management of load-balancing appliances. Changes are staged and take effect with PUT /services/apply.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/api/v1' }],
    tags: [...new Set(endpoints.map(tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      schemas: { Error: ERROR },
      responses: {
        Error: {
          description: Object.entries(ERRORS)
            .map(([code, { status, meaning }]) => `\`${code}\` (${status}): ${meaning}`)
            .join('\n\n'),
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
        },
      },
    },
  }
}

const tag = (endpoint: Endpoint) => endpoint.name.split('.')[0] ?? endpoint.name

function operation(endpoint: Endpoint): Json {
  const parameters = [...pathParameters(endpoint.path), ...queryParameters(endpoint), ...headerParameters(endpoint)]
  return {
    operationId: endpoint.name,
    summary: endpoint.summary,
    tags: [tag(endpoint)],
    security: endpoint.access === 'public' ? [] : [{ bearer: [] }],
    'x-endpoint-id': endpointId(endpoint),
    'x-staged': endpoint.staged,
    'x-effect': endpoint.effect,
    'x-access': endpoint.access,
    ...(endpoint.extension ? { 'x-extension': true } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(endpoint.body === undefined ? {} : { requestBody: requestBody(endpoint.body, endpoint.isForm) }),
    responses: { [String(endpoint.status)]: success(endpoint), '4XX': { $ref: '#/components/responses/Error' } },
  }
}

function requestBody(body: TSchema, isForm: boolean): Json {
  const schema = plain(body)
  const required = Array.isArray(schema['required']) && schema['required'].length > 0
  const form = isForm ? { 'application/x-www-form-urlencoded': { schema } } : {}
  return { required, content: { ...form, 'application/json': { schema } } }
}

function success(endpoint: Endpoint): Json {
  const description = endpoint.message
  if (endpoint.status === 303) {
    const schema = { type: 'string' }
    return { description, headers: { Location: { description: 'Where to go on.', schema } } }
  }
  const content = Object.fromEntries(
    endpoint.produces.map((type) => [
      type,
      { schema: type === 'application/json' ? envelope(endpoint) : { type: 'string' } },
    ]),
  )
  return { description, content }
}

function envelope(endpoint: Endpoint): Json {
  const hasData = endpoint.data !== undefined && Reflect.get(endpoint.data, 'type') !== 'void'
  return {
    type: 'object',
    required: hasData ? ['status', 'message', 'data'] : ['status', 'message'],
    properties: {
      status: { type: 'string', const: 'success', description: 'Always `success`.' },
      message: { type: 'string', description: 'What was done, for people.' },
      ...(hasData && endpoint.data !== undefined ? { data: plain(endpoint.data) } : {}),
      ...Object.fromEntries(
        Object.entries(endpoint.beside?.properties ?? {}).map(([name, schema]) => [name, plain(schema)]),
      ),
    },
  }
}

function pathParameters(path: string): readonly Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
    description: /^applianceI[dD]$/.test(name) ? 'Id of the node that answers.' : `The ${name} of the record.`,
  }))
}

const HEADERS: Readonly<Record<string, string>> = {
  'last-event-id': 'Number of the last event that was received.',
  'x-backup-passphrase': 'Passphrase of the backup, 8 to 256 printable ASCII characters; without it, none.',
}

function headerParameters({ headers }: Endpoint): readonly Json[] {
  return headers.map((name) => ({
    name,
    in: 'header',
    required: false,
    schema: { type: 'string' },
    description: HEADERS[name] ?? name,
  }))
}

function queryParameters(endpoint: Endpoint): readonly Json[] {
  if (endpoint.query === undefined) return []
  const required: readonly string[] = endpoint.query.required ?? []
  return Object.entries(endpoint.query.properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema: plain(schema),
    description: String(Reflect.get(schema, 'description') ?? name),
  }))
}
