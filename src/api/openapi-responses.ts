import { type TSchema, Type } from 'typebox'
import { ERRORS, type ErrorCode } from '../base/errors.ts'
import { FORMATS } from '../model/fields.ts'
import type { Endpoint } from './endpoint.ts'
import { refusalCodes } from './refusal-codes.ts'

export type Json = Readonly<Record<string, unknown>>

const known = new WeakMap<TSchema, Json>()

/** TypeBox schemas are JSON Schema already; this removes what is not data, and completes the rest. */
export function plain(schema: TSchema): Json {
  let json = known.get(schema)
  if (json === undefined) {
    json = JSON.parse(JSON.stringify(schema)) as Json
    sayMore(json)
    known.set(schema, json)
  }
  return json
}

/** Client generators treat an enumeration without a type as any value, and do not know the extension for formats. */
function sayMore(node: object): void {
  for (const value of Object.values(node)) if (typeof value === 'object' && value !== null) sayMore(value)
  const formats: readonly string[] | undefined = Reflect.get(node, FORMATS)
  if (formats !== undefined) {
    Reflect.deleteProperty(node, FORMATS)
    Object.assign(node, { anyOf: formats.map((format) => ({ type: 'string', format })) })
  }
  const { enum: values, type }: { readonly enum?: unknown; readonly type?: unknown } = node
  if (!Array.isArray(values) || type !== undefined) return
  const types = [...new Set(values.map((one: unknown) => (one === null ? 'null' : typeof one)))]
  Object.assign(node, { type: types.length === 1 ? types[0] : types })
}

const header = (description: string, required: boolean, more: Json = {}): Json => ({
  description,
  required,
  schema: { type: 'string', ...more },
})

/** The headers of answers, other than those of HTTP itself. */
export const HEADERS: Readonly<Record<string, Json>> = {
  'X-Request-Id': header('Id of the request in the log of the daemon and in the audit log.', true),
  'X-Fulcrum-Sequence': header(
    'Number of the last entry of the shared log in the answer; a read with this number waits up to a second for that entry. Absent without a cluster, and for figures.',
    false,
    { pattern: '^[0-9]+$' },
  ),
  'X-Cluster': header(
    'Too few nodes of the cluster answer: reads may return old data, and no changes are possible.',
    false,
    {
      const: 'no-quorum',
    },
  ),
  'Retry-After': header('Seconds after which the request may be repeated.', true, { pattern: '^[0-9]+$' }),
  Allow: header('Methods of the path, separated by commas.', true),
  'WWW-Authenticate': header('How to log in.', true, { const: 'Bearer' }),
  Location: header('Path of the running job.', true, { pattern: '^/api/v1/jobs/' }),
  ETag: header('Revision of the record, for If-Match; absent unless a single record was read.', false),
  'X-Dry-Run': header('The trial profile only recorded the changes to the machine.', false, {
    const: 'true',
  }),
}

/** Headers of every answer. */
const OF_ALL = ['X-Request-Id', 'X-Fulcrum-Sequence', 'X-Cluster'] as const

/** Headers of single endpoints, which name them in `sends`. */
const OWN_HEADERS: Readonly<Record<string, Json>> = {
  Tag: header('ETag of the content, for If-None-Match.', true),
  Elsewhere: header('Where the browser continues.', true),
  'Set-Cookie': header('Ties the login to this browser; other programs get no cookie.', false),
  'Content-Security-Policy': header('What the page may load.', true),
  'Referrer-Policy': header('The page does not reveal its address.', true, { const: 'no-referrer' }),
  'Content-Disposition': header('Suggested file name.', true),
  'X-Resolution': header('With CSV: seconds per point of the answer.', false, { pattern: '^[0-9]+$' }),
  'X-Backup-Warning': header(
    'Without a passphrase: warns that the file contains private keys and passwords in plain text.',
    false,
  ),
}

const ref = (kind: string, name: string): Json => ({ $ref: `#/components/${kind}/${name}` })
const headersOf = (names: readonly string[]): Json =>
  Object.fromEntries(
    names.map((name) => [name, HEADERS[name] === undefined ? OWN_HEADERS[name] : ref('headers', name)]),
  )

/** The answers of endpoints. Refusals that several share are stored once, in `shared`. */
export class Responses {
  readonly shared: Record<string, Json> = {}

  of(endpoint: Endpoint): Json {
    return { ...successes(endpoint), ...this.#refusals(endpoint) }
  }

  #refusals(endpoint: Endpoint): Json {
    const codes = refusalCodes(endpoint)
    const statuses = [...new Set(codes.map((code) => ERRORS[code].status))]
    const of = (status: number) => codes.filter((code) => ERRORS[code].status === status)
    return Object.fromEntries(statuses.map((status) => [String(status), this.#refusal(status, of(status))]))
  }

  #refusal(status: number, codes: readonly ErrorCode[]): Json {
    const name = `Error${status}_${codes.join('_')}`
    this.shared[name] ??= refusal(status, codes)
    return ref('responses', name)
  }
}

function refusal(status: number, codes: readonly ErrorCode[]): Json {
  const schema = { allOf: [ref('schemas', 'Error'), { properties: { code: { type: 'string', enum: codes } } }] }
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].meaning}`).join('\n\n'),
    headers: { ...headersOf(OF_ALL), ...ofRefusal(status, codes) },
    content: { 'application/json': { schema } },
  }
}

const BUSY: ReadonlySet<string> = new Set(['APPLY_IN_PROGRESS', 'JOB_IN_PROGRESS'])
const AT_TIMES_BUSY: ReadonlySet<string> = new Set([...BUSY, 'NO_QUORUM', 'NODE_UNREACHABLE'])

function ofRefusal(status: number, codes: readonly ErrorCode[]): Json {
  if (status === 401) return headersOf(['WWW-Authenticate'])
  if (status === 405) return headersOf(['Allow'])
  if (status === 429) return headersOf(['Retry-After'])
  if (!codes.some((code) => AT_TIMES_BUSY.has(code))) return {}
  return codes.every((code) => BUSY.has(code))
    ? headersOf(['Retry-After'])
    : { 'Retry-After': { ...HEADERS['Retry-After'], required: false } }
}

function successes(endpoint: Endpoint): Json {
  const { status, mayGoOn, maySendOn, isTagged } = endpoint
  const answers: Record<string, Json> = { [String(status)]: success(endpoint, status) }
  if (mayGoOn) answers['202'] = success(endpoint, 202)
  if (maySendOn) answers['303'] = success(endpoint, 303)
  if (isTagged) {
    const headers = { ...headersOf(OF_ALL), ETag: OWN_HEADERS['Tag'] }
    answers['304'] = { description: 'The content still has the ETag in If-None-Match: there is no body.', headers }
  }
  return answers
}

const INSTEAD: Readonly<Record<number, string>> = {
  202: 'the job continues',
  303: 'or a redirect to the admin page, if it started the login.',
}

function success(endpoint: Endpoint, status: number): Json {
  const { message, produces, whole } = endpoint
  const json = whole === undefined ? envelope(endpoint, status) : plain(whole)
  const content = Object.fromEntries(
    produces.map((type) => [type, { schema: type === 'application/json' ? json : { type: 'string' } }]),
  )
  return {
    description: status === endpoint.status ? message : `${message.replace(/\.$/, '')}; ${INSTEAD[status]}`,
    headers: ofSuccess(endpoint, status),
    ...(produces.length === 0 ? {} : { content }),
  }
}

function ofSuccess({ effect, method, isTagged, whole, produces, sends }: Endpoint, status: number): Json {
  const hasRecord = method === 'GET' && whole === undefined && !isTagged && produces.includes('application/json')
  const acts = effect !== 'read' && effect !== 'stage'
  return {
    ...headersOf([
      ...OF_ALL,
      ...(hasRecord ? ['ETag'] : []),
      ...(acts ? ['X-Dry-Run'] : []),
      ...(status === 202 ? ['Location'] : []),
      ...sends,
    ]),
    ...(isTagged ? { ETag: OWN_HEADERS['Tag'] } : {}),
    ...(status === 303 ? { Location: OWN_HEADERS['Elsewhere'] } : {}),
  }
}

const JOB: Json = { type: 'string', description: 'Id of the running job, see GET /jobs/{id}.' }

/** Returns the name of an envelope that has no fields of its own. */
function plainEnvelope(data: TSchema | undefined, status: number): string | undefined {
  const name = status === 202 ? 'Begun' : 'Done'
  if (data === undefined) return name
  return Reflect.get(data, 'maxItems') === 0 ? `${name}WithoutData` : undefined
}

function envelope({ data, beside }: Endpoint, status: number): Json {
  const hasData = data !== undefined && Reflect.get(data, 'type') !== 'void'
  const title = beside === undefined ? plainEnvelope(hasData ? data : undefined, status) : undefined
  return {
    ...(title === undefined ? {} : { title }),
    type: 'object',
    required: [
      'status',
      'message',
      ...(hasData && !Type.IsOptional(data) ? ['data'] : []),
      ...(status === 202 ? ['job'] : []),
      ...(beside?.required ?? []),
    ],
    properties: {
      status: { type: 'string', const: 'success', description: 'Always `success`.' },
      message: { type: 'string', description: 'Result in words.' },
      ...(hasData ? { data: plain(data) } : {}),
      ...(status === 202 ? { job: JOB } : {}),
      ...Object.fromEntries(Object.entries(beside?.properties ?? {}).map(([name, schema]) => [name, plain(schema)])),
    },
  }
}
