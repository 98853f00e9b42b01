import type { TObject, TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import { Settings } from 'typebox/system'
import { ApiError, type FieldError } from '../errors.ts'
import { closed } from '../model/fields.ts'

// Every problem of a body is reported at once; a megabyte cannot hold more fields than this many mistakes matter.
Settings.Set({ maxErrors: 200 })

type SchemaError = ReturnType<Validator['Errors']>[number]

/** Compiled on first use: start-up does not pay for endpoints nobody calls. */
export class Validation {
  readonly #schema: TSchema
  #validator: Validator | undefined

  constructor(schema: TSchema | undefined) {
    this.#schema = schema ?? closed({})
  }

  /** All problems of `value`, one entry per field; [] when it fits. */
  problems(value: unknown): readonly FieldError[] {
    this.#validator ??= Compile(this.#schema)
    if (this.#validator.Check(value)) return []
    return fieldErrors([...this.#validator.Errors(value)])
  }
}

function fieldErrors(errors: readonly SchemaError[]): readonly FieldError[] {
  const found = new Map<string, FieldError>()
  for (const error of errors) {
    for (const entry of explain(error, errors)) if (!found.has(entry.field)) found.set(entry.field, entry)
  }
  return [...found.values()]
}

const at = (path: string, name?: string) =>
  [...path.split('/').slice(1), ...(name === undefined ? [] : [name])]
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.')

const CODES: Readonly<Record<string, string>> = {
  type: 'TYPE',
  enum: 'NOT_ALLOWED',
  const: 'NOT_ALLOWED',
  minimum: 'OUT_OF_RANGE',
  maximum: 'OUT_OF_RANGE',
  minLength: 'OUT_OF_RANGE',
  maxLength: 'OUT_OF_RANGE',
  minItems: 'OUT_OF_RANGE',
  maxItems: 'OUT_OF_RANGE',
  pattern: 'FORMAT',
  '~refine': 'FORMAT',
  uniqueItems: 'NOT_UNIQUE',
}

function explain(error: SchemaError, all: readonly SchemaError[]): readonly FieldError[] {
  if (error.keyword === 'boolean') return []
  if (error.keyword === 'anyOf') return explainUnion(error, all)
  if (error.keyword === 'required') {
    return error.params.requiredProperties.map((name) => ({
      field: at(error.instancePath, name),
      code: 'REQUIRED',
      message: 'is required',
    }))
  }
  if (error.keyword === 'additionalProperties') {
    return error.params.additionalProperties.map((name) => ({
      field: at(error.instancePath, name),
      code: 'UNKNOWN',
      message: 'is not a field of this request',
    }))
  }
  if (all.some((union) => union.keyword === 'anyOf' && branchOf(error, union))) return []
  return [{ field: at(error.instancePath), code: CODES[error.keyword] ?? 'INVALID', message: sentence(error) }]
}

const branchOf = (error: SchemaError, union: SchemaError) =>
  error.instancePath === union.instancePath && error.schemaPath.startsWith(`${union.schemaPath}/anyOf/`)

/** A union reports each branch and then itself; when a branch says what is wrong inside the value, that is enough. */
function explainUnion(union: SchemaError, all: readonly SchemaError[]): readonly FieldError[] {
  if (all.some((error) => error.instancePath.startsWith(`${union.instancePath}/`))) return []
  const branches = all.filter((error) => branchOf(error, union)).map(sentence)
  return [{ field: at(union.instancePath), code: 'TYPE', message: branches.join(', or ') }]
}

function sentence(error: SchemaError): string {
  if (error.keyword === 'enum') return `must be one of ${error.params.allowedValues.map(String).join(', ')}`
  if (error.keyword === 'const') return `must be ${JSON.stringify(error.params.allowedValue)}`
  return error.message
}

/** The body of a request: an object that fits the schema. An empty body is an empty object. */
export function parseBody(raw: Uint8Array, validation: Validation): unknown {
  const body = raw.length === 0 ? {} : parseObject(raw)
  const errors = validation.problems(body)
  if (errors.length > 0) {
    throw new ApiError('INVALID_BODY', `The body has ${counted(errors.length)}: ${list(errors)}`, { errors })
  }
  return body
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function parseObject(raw: Uint8Array): object {
  let body: unknown
  try {
    body = JSON.parse(decoder.decode(raw))
  } catch {
    throw new ApiError('MALFORMED_REQUEST', 'The body is not JSON in UTF-8')
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new ApiError('MALFORMED_REQUEST', 'The body must be a JSON object')
  }
  return body
}

/** The query as the schema's types: integers are converted, a repeated or unknown name is refused. */
export function parseQuery(text: string, schema: TObject | undefined, validation: Validation): unknown {
  const query: Record<string, unknown> = {}
  const repeated: FieldError[] = []
  for (const [name, value] of new URLSearchParams(text)) {
    if (Object.hasOwn(query, name)) repeated.push({ field: name, code: 'NOT_UNIQUE', message: 'is given twice' })
    const integer = Reflect.get(schema?.properties[name] ?? {}, 'type') === 'integer'
    const converted = integer && /^-?\d{1,15}$/.test(value) ? Number(value) : value
    Object.defineProperty(query, name, { value: converted, enumerable: true, configurable: true, writable: true })
  }
  const errors = [...repeated, ...validation.problems(query)]
  if (errors.length > 0) {
    throw new ApiError('INVALID_QUERY', `The query has ${counted(errors.length)}: ${list(errors)}`, { errors })
  }
  return query
}

const counted = (count: number) => (count === 1 ? '1 problem' : `${count} problems`)
const list = (errors: readonly FieldError[]) =>
  errors
    .slice(0, 5)
    .map((error) => `${error.field} ${error.message}`)
    .join('; ')
