import type { Endpoint } from './endpoint.ts'
import { type Json, plain } from './openapi-responses.ts'

const optional = (name: string, description: string): Json => ({
  name,
  in: 'header',
  required: false,
  schema: { type: 'string' },
  description,
})

/** Request headers that many endpoints take. */
export const PARAMETERS: Readonly<Record<string, Json>> = {
  IfMatch: optional('If-Match', 'ETag of the record as it was read: 412 when it has changed since.'),
  IfNoneMatch: optional('If-None-Match', 'ETag of an answer that the client has: 304 when it would be the same.'),
  Sequence: optional('X-Fulcrum-Sequence', 'That of an earlier answer of any node: what is read has as much in it.'),
  TransactionId: optional('X-Transaction-Id', 'Open transaction in which this is done, see POST /transactions.'),
}

const shared = (name: keyof typeof PARAMETERS): Json => ({ $ref: `#/components/parameters/${name}` })

/** What a request to the endpoint says beside its body. */
export function parametersOf(endpoint: Endpoint): readonly Json[] {
  const { method, access, isTagged, outsideTransactions, comparesRevision } = endpoint
  return [
    ...pathParameters(endpoint),
    ...queryParameters(endpoint),
    ...headerParameters(endpoint),
    ...(comparesRevision ? [shared('IfMatch')] : []),
    ...(isTagged ? [shared('IfNoneMatch')] : []),
    ...(access !== 'public' && method === 'GET' ? [shared('Sequence')] : []),
    ...(access === 'public' || outsideTransactions ? [] : [shared('TransactionId')]),
  ]
}

function pathParameters({ path, answeredByAny }: Endpoint): readonly Json[] {
  const answers = answeredByAny === undefined || answeredByAny === 'in transactions'
  const node = answers ? 'Id of the node that answers.' : 'Id of the node.'
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
    description: /^applianceI[dD]$/.test(name) ? node : `The ${name} of the record.`,
  }))
}

const READ: Readonly<Record<string, string>> = {
  cookie: 'The cookie that GET /saml/login has set.',
  'last-event-id': 'Number of the last event that was received.',
  'x-backup-passphrase': 'Passphrase of the backup, 8 to 256 printable ASCII characters; without it, none.',
}

function headerParameters({ headers }: Endpoint): readonly Json[] {
  return headers.map((name) => ({
    name,
    in: 'header',
    required: false,
    schema: { type: 'string' },
    description: READ[name] ?? name,
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
