import { type TSchema, Type } from 'typebox'
import type { Validator } from 'typebox/compile'
import { Settings } from 'typebox/system'
import { ApiError, type FieldError, PROBLEMS_TOLD, problemsText, refuseBody } from '../base/errors.ts'
import { withoutUnset } from '../api/null-fields.ts'
import { closed } from '../model/fields.ts'
import { holdsLists, longListProblems } from '../base/long-lists.ts'
import { validatorOf } from '../base/validator.ts'

// Every problem of a body is reported at once, up to a number beyond which nobody reads on.
const ERRORS_MAX = 200
Settings.Set({ maxErrors: ERRORS_MAX })

type SchemaError = ReturnType<Validator['Errors']>[number]

/** The requirements of an endpoint beyond the schema; see EndpointSpec. */
export interface BodyRules {
  readonly rules?: ((value: never, unfit: ReadonlySet<string>) => readonly FieldError[]) | undefined
  readonly needsOneOf?: readonly (readonly string[])[]
}

/** Compiled on first use: start-up does not pay for endpoints nobody calls. */
export class Validation {
  /** Whether the request may be empty. */
  readonly takesNothing: boolean
  /** For each property, whether it is an integer. */
  readonly properties: ReadonlyMap<string, boolean>
  readonly #holdsLists: boolean
  readonly #schema: TSchema
  readonly #isChange: boolean
  readonly #rules: BodyRules
  #validator: Validator | undefined

  constructor(schema: TSchema | undefined, rules: BodyRules = {}, isChange = false) {
    this.#isChange = isChange
    this.#schema = schema ?? closed({})
    this.#rules = rules
    const properties: unknown = Reflect.get(this.#schema, 'properties')
    const all = Object.entries(typeof properties === 'object' && properties !== null ? properties : {})
    this.takesNothing = all.every(([, property]) => Type.IsOptional(property))
    this.properties = new Map(all.map(([name, { type }]) => [name, type === 'integer']))
    this.#holdsLists = holdsLists(this.#schema)
  }

  /** Returns the body in the form in which it is judged if it is invalid as sent. */
  withoutUnset(body: unknown): unknown {
    return withoutUnset(this.#schema, body, this.#isChange)
  }

  /** Returns all problems of `value`, one entry per field; [] if it is valid. */
  problems(value: unknown): readonly FieldError[] {
    const lists = this.#holdsLists ? longListProblems(this.#schema, value) : []
    if (lists.length > 0) return lists
    this.#validator ??= validatorOf(this.#schema)
    const lacking = this.#lacking(value)
    const isFitting = this.#validator.Check(value)
    if (isFitting && lacking.length === 0) return []
    const errors = isFitting ? [] : [...this.#validator.Errors(value)]
    const problems = [...fieldErrors(errors), ...lacking]
    // Never empty after a failed check, whatever the library reports.
    if (problems.length === 0) return [{ field: '', code: 'INVALID', message: 'does not match the schema' }]
    // At the limit of errors, it is unknown which other fields are invalid.
    return errors.length >= ERRORS_MAX ? problems : [...problems, ...this.#ruleProblems(value, problems)]
  }

  /** Returns fields that have several possible names and are present under none of them. */
  #lacking(value: unknown): readonly FieldError[] {
    const { needsOneOf = [] } = this.#rules
    if (needsOneOf.length === 0 || typeof value !== 'object' || value === null) return []
    const isThere = (name: string) => Reflect.get(value, name) !== undefined
    return needsOneOf.flatMap((names) => (names.some(isThere) ? [] : [required(String(names[0]))]))
  }

  /** Applies the rules to the valid fields, and to the valid entries of lists. */
  #ruleProblems(value: unknown, known: readonly FieldError[]): readonly FieldError[] {
    const { rules } = this.#rules
    if (rules === undefined || typeof value !== 'object' || value === null) return []
    const { fitting, placesIn } = whatFits(value, known)
    const told = new Set(known.map(({ field }) => field))
    const unfit = new Set(known.map(({ field }) => field.split('.', 1)[0] ?? ''))
    return rules(fitting as never, unfit).flatMap((problem): FieldError[] => {
      const [name = '', index, ...inside] = problem.field.split('.')
      const places = placesIn.get(name)
      // A field that was left out as invalid is not missing.
      if (places === undefined) return told.has(problem.field) ? [] : [problem]
      // A problem of the whole list may be due to the entries that were left out.
      return index === undefined ? [] : [{ ...problem, field: [name, places[Number(index)], ...inside].join('.') }]
    })
  }
}

/** Returns the value without its invalid parts, and the original positions of the entries of shortened lists. */
function whatFits(value: object, known: readonly FieldError[]) {
  const placesIn = new Map<string, readonly number[]>()
  const faults = known.map(({ field }) => field.split('.'))
  const entries = Object.entries(value).flatMap(([name, one]: [string, unknown]) => {
    const own = faults.filter(([first]) => first === name)
    if (own.length === 0) return [[name, one]]
    if (!Array.isArray(one) || own.some((path) => path.length === 1)) return []
    const broken = new Set(own.map(([, index]) => index))
    const places = [...one.keys()].filter((index) => !broken.has(String(index)))
    placesIn.set(name, places)
    return [[name, places.map((index): unknown => one[index])]]
  })
  return { fitting: Object.fromEntries(entries) as unknown, placesIn }
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
    .toWellFormed()

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
  // The library reports an unknown field individually and, if its list is not full yet, in one list with the others.
  if (error.keyword === 'boolean') return [unknown(at(error.instancePath))]
  // Problems with names are reported separately.
  if (error.keyword === 'propertyNames') return []
  if (error.keyword === 'anyOf') return explainUnion(error, all)
  if (error.keyword === 'required') {
    return error.params.requiredProperties.map((name) => required(at(error.instancePath, name)))
  }
  if (error.keyword === 'additionalProperties') {
    return error.params.additionalProperties.map((name) => unknown(at(error.instancePath, name)))
  }
  if (all.some((union) => union.keyword === 'anyOf' && branchOf(error, union))) return []
  return [{ field: at(error.instancePath), code: CODES[error.keyword] ?? 'INVALID', message: sentence(error) }]
}

const required = (field: string): FieldError => ({ field, code: 'REQUIRED', message: 'is required' })

const unknown = (field: string): FieldError => ({ field, code: 'UNKNOWN', message: 'is not a field of this request' })

const branchOf = (error: SchemaError, union: SchemaError) =>
  error.instancePath === union.instancePath && error.schemaPath.startsWith(`${union.schemaPath}/anyOf/`)

/** The library reports each branch of a union and then the union; a problem inside the value is enough. */
function explainUnion(union: SchemaError, all: readonly SchemaError[]): readonly FieldError[] {
  if (all.some((error) => error.instancePath.startsWith(`${union.instancePath}/`))) return []
  const branches = all.filter((error) => branchOf(error, union))
  // Missing fields are reported separately.
  if (branches.some(({ keyword }) => keyword === 'required')) return []
  // For a field that accepts null or an object besides an id: a value of another type gets the message about types.
  const ofForms = ['null', 'object'].reduce((left, type) => {
    const others = left.filter((error) => !(error.keyword === 'type' && error.params.type === type))
    return others.length === 0 ? left : others
  }, branches)
  // A branch of another type has no range: half a port is not an integer, whatever it is near.
  const mistyped = new Set(ofForms.flatMap(({ keyword, schemaPath }) => (keyword === 'type' ? [schemaPath] : [])))
  const told = ofForms.filter(({ keyword, schemaPath }) => keyword === 'type' || !mistyped.has(schemaPath))
  // In a field that accepts a number or a word, a number out of range has the right type.
  const ofType = told.filter(({ keyword }) => !isOfAnother(keyword))
  const codes = new Set((ofType.length > 0 ? ofType : told).map(({ keyword }) => CODES[keyword] ?? 'TYPE'))
  const [code = 'TYPE'] = codes
  const message = told.map(sentence).join(', or ')
  return [{ field: at(union.instancePath), code: codes.size === 1 ? code : 'TYPE', message }]
}

const isOfAnother = (keyword: string): boolean => ['type', 'const', 'enum'].includes(keyword)

function sentence(error: SchemaError): string {
  if (error.keyword === 'enum')
    return `must be one of ${error.params.allowedValues.map((value) => JSON.stringify(value)).join(', ')}`
  if (error.keyword === 'const') return `must be ${JSON.stringify(error.params.allowedValue)}`
  return error.message
}

/** A parsed body; undefined if it is not JSON in UTF-8. */
export type ParsedBody = { readonly value: unknown } | undefined

/** Returns the body of a request: an object that matches the schema. */
export function validBody(parsed: ParsedBody, validation: Validation): unknown {
  if (parsed === undefined) throw new ApiError('MALFORMED_REQUEST', 'The body is not valid JSON in UTF-8')
  const body = parsed.value
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new ApiError('MALFORMED_REQUEST', 'The body must be a JSON object')
  }
  try {
    return fittingBody(body, validation)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new ApiError('MALFORMED_REQUEST', 'The body is nested too deeply')
  }
}

function fittingBody(body: unknown, validation: Validation): unknown {
  if (problemsOf(body, validation).length === 0) return body
  const set = validation.withoutUnset(body)
  refuseBody(problemsOf(set, validation))
  return set
}

function problemsOf(body: unknown, validation: Validation): readonly FieldError[] {
  const problems = validation.problems(body)
  if (!holdsBroken(body)) return problems.slice(0, ERRORS_MAX)
  const known = new Set(problems.map(({ field }) => field))
  return [...problems, ...brokenTexts(body).filter(({ field }) => !known.has(field))].slice(0, ERRORS_MAX)
}

/** Returns whether any text is broken; only then the positions are worked out. */
const holdsBroken = (value: unknown): boolean =>
  typeof value === 'string'
    ? !value.isWellFormed()
    : typeof value === 'object' &&
      value !== null &&
      Object.entries(value).some(([name, one]) => !name.isWellFormed() || holdsBroken(one))

/** Reports texts with an unpaired surrogate, which JSON allows: many programs could not read an answer with one. */
function brokenTexts(value: unknown, field = ''): readonly FieldError[] {
  if (typeof value === 'string') return value.isWellFormed() ? [] : [broken(field)]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, one]) => {
    const inside = field === '' ? name : `${field}.${name}`
    return [...(name.isWellFormed() ? [] : [broken(inside)]), ...brokenTexts(one, inside)]
  })
}

const broken = (field: string): FieldError => ({
  field: field.toWellFormed(),
  code: 'FORMAT',
  message: 'has an unpaired surrogate, which is half a character',
})

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Parses a small body. An empty one is an empty object. */
export function parseSmall(raw: Uint8Array): ParsedBody {
  if (raw.length === 0) return { value: {} }
  try {
    return { value: JSON.parse(decoder.decode(raw)) }
  } catch {
    return undefined
  }
}

/** Parses an HTML form into texts; undefined if a field is repeated or not UTF-8. */
export function parseForm(raw: Uint8Array): ParsedBody {
  const value: Record<string, unknown> = { __proto__: null }
  for (const [name, field] of new URLSearchParams(Buffer.from(raw).toString('latin1'))) {
    if (name in value || field.includes('\ufffd')) return undefined
    value[name] = field
  }
  return { value }
}

const EMPTY_QUERY = Object.freeze({})

/**
 * Parses the query by the schema's types: integers are converted, repeated or unknown names are refused, and `_…` is
 * ignored.
 */
export function parseQuery(text: string, validation: Validation): unknown {
  // Nearly every request has no query and its endpoint needs none.
  if (text === '' && validation.takesNothing) return EMPTY_QUERY
  let query: Record<string, unknown> = {}
  let repeated: FieldError[] | undefined
  for (const [name, value] of /[%+]/.test(text) ? new URLSearchParams(text) : plainPairs(text)) {
    // Parameters for a cache, a monitor or a browser, which have no meaning here.
    if (name.startsWith('_')) continue
    const isInteger = validation.properties.get(name)
    // After the first unknown name the object has no prototype, so that no name has a meaning of its own.
    if (isInteger === undefined) query = Object.setPrototypeOf(query, null)
    if (name in query) (repeated ??= []).push({ field: name, code: 'NOT_UNIQUE', message: 'is given twice' })
    query[name] = isInteger === true && /^-?\d{1,15}$/.test(value) ? Number(value) : value
  }
  const problems = validation.problems(query)
  const errors = repeated === undefined ? problems : [...repeated, ...problems]
  if (errors.length > 0) {
    throw new ApiError('INVALID_QUERY', `The query has ${problemsText(errors, PROBLEMS_TOLD)}`, { errors })
  }
  return query
}

/** Does what URLSearchParams does for a text without encoded characters, in a quarter of the time. */
function plainPairs(text: string): readonly (readonly [name: string, value: string])[] {
  const pairs: [string, string][] = []
  for (const part of text.split('&')) {
    const equals = part.indexOf('=')
    if (equals >= 0) pairs.push([part.slice(0, equals), part.slice(equals + 1)])
    else if (part !== '') pairs.push([part, ''])
  }
  return pairs
}
