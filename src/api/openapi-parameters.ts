import { documentedPath } from './documented-path.ts'
import type { Endpoint } from './endpoint.ts'
import { type Json, plain } from './openapi-responses.ts'

const optional = (name: string, description: string): Json => ({
  name,
  in: 'header',
  required: false,
  schema: { type: 'string' },
  description,
})

/** Request headers that many endpoints accept. */
export const PARAMETERS: Readonly<Record<string, Json>> = {
  IfMatch: optional('If-Match', 'ETag of the record from an earlier read: 412 if it has changed since.'),
  IfNoneMatch: optional('If-None-Match', 'ETag of an answer that the client has stored: 304 if it is still current.'),
  Sequence: optional(
    'X-Fulcrum-Sequence',
    'Sequence number from an earlier answer of any node: the answer is at least as recent.',
  ),
  TransactionId: optional(
    'X-Transaction-Id',
    'Id of an open transaction to which the request belongs, see POST /transactions.',
  ),
}

const shared = (name: string): Json => ({ $ref: `#/components/parameters/${name}` })

/** Returns the parameters of a request to the endpoint. */
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

function pathParameters({ answeredByAny, ...endpoint }: Endpoint): readonly Json[] {
  const answers = answeredByAny === undefined || answeredByAny === 'in transactions'
  const node = answers ? 'Id of the answering node.' : 'Id of the node.'
  return [...documentedPath(endpoint).matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
    description: name === 'applianceId' ? node : `The ${name} of the record.`,
  }))
}

const READ: Readonly<Record<string, string>> = {
  cookie: 'Cookie set at the start of the login.',
  'last-event-id': 'Number of the last event received.',
  'x-fulcrum-page': 'Key of the admin page, which belongs to the cookie.',
  'x-backup-passphrase': 'Passphrase of the backup, 8 to 256 printable ASCII characters; if omitted, none.',
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
  return Object.entries(endpoint.query.properties).map(([name, schema]) => {
    const { description, ...rest } = plain(schema)
    return { name, in: 'query', required: required.includes(name), schema: rest, description: description ?? name }
  })
}

/** Number of operations that must share a parameter before it becomes a component. */
const SHARED_MIN = 3

/**
 * Parameters that several operations share. The name of a component is that of the parameter; if parameters of that
 * name differ, the first operation's name is added.
 */
export class SharedParameters {
  readonly shared: Record<string, Json> = { ...PARAMETERS }
  readonly #names = new Map<string, string>()

  constructor(operations: readonly (readonly [Endpoint, Json])[]) {
    const met = new Map<string, { readonly parameter: Json; readonly first: Endpoint; count: number }>()
    for (const [endpoint, { parameters }] of operations) {
      for (const parameter of (parameters ?? []) as readonly Json[]) {
        const key = JSON.stringify(parameter)
        const known = met.get(key)
        if (known === undefined) met.set(key, { parameter, first: endpoint, count: 1 })
        else known.count += 1
      }
    }
    const several = [...met].filter(
      ([, { parameter, count }]) => count >= SHARED_MIN && parameter['$ref'] === undefined,
    )
    for (const [key, { parameter, first }] of several.toSorted(([, a], [, b]) => b.count - a.count)) {
      const plainName = pascal(String(parameter['name']))
      const name = plainName in this.shared ? `${plainName}Of${pascal(first.name.replace('.', '_'))}` : plainName
      this.#names.set(key, name)
      this.shared[name] = parameter
    }
  }

  of(parameters: readonly Json[]): readonly Json[] {
    return parameters.map((parameter) => {
      const name = this.#names.get(JSON.stringify(parameter))
      return name === undefined ? parameter : shared(name)
    })
  }
}

/** `x-backup_file` becomes XBackupFile. */
const pascal = (name: string): string => name.replace(/(?:^|[-_])(\w)/g, (_, letter: string) => letter.toUpperCase())
