import { signal } from '@preact/signals'
import { read } from './api.ts'

/** The API's description of itself, from which forms are made. */

export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly default?: unknown
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly readOnly?: boolean
  readonly 'x-refers-to'?: readonly string[]
}

interface Parameter {
  readonly $ref?: string
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

interface RawOperation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Schema; readonly example?: unknown }>>
  }
  readonly 'x-effect'?: string
  readonly 'x-endpoint-id': string
  readonly 'x-access': string
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly parameters: Readonly<Record<string, Parameter>>
  }
  readonly tags: readonly { readonly name: string; readonly description?: string }[]
}

export interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly description: string
  readonly tag: string
  readonly effect: string
  /** The right that it needs, if any. */
  readonly right: string | undefined
  readonly inPath: readonly Parameter[]
  readonly inQuery: readonly Parameter[]
  readonly body: Schema | undefined
  readonly example: unknown
}

export interface Api {
  readonly operations: ReadonlyMap<string, Operation>
  /** Returns the schema behind a reference, merged with the keywords beside it. */
  readonly whole: (schema: Schema) => Schema
}

const METHODS = ['get', 'post', 'put', 'delete'] as const

export const api = signal<Api | undefined>(undefined)
let asked: Promise<void> | undefined

/** Loads the document for the first form, and keeps it. */
export function loadApi(): Promise<void> {
  asked ??= read<Document>('/openapi.json').then(
    (document) => {
      api.value = apiOf(document)
    },
    () => {
      asked = undefined
    },
  )
  return asked
}

function apiOf({ paths, components }: Document): Api {
  const whole = (schema: Schema): Schema => {
    if (schema.$ref === undefined) return schema
    const { $ref, ...beside } = schema
    const meant = components.schemas[$ref.slice($ref.lastIndexOf('/') + 1)]
    return meant === undefined ? beside : { ...whole(meant), ...beside }
  }
  const operations = new Map<string, Operation>()
  for (const [path, methods] of Object.entries(paths)) {
    for (const method of METHODS) {
      const raw = methods[method]
      if (raw === undefined) continue
      const parameters = (raw.parameters ?? []).map((one) =>
        one.$ref === undefined ? one : (components.parameters[one.$ref.slice(one.$ref.lastIndexOf('/') + 1)] ?? one),
      )
      const body = raw.requestBody?.content['application/json']
      operations.set(raw.operationId, {
        id: raw.operationId,
        method: method.toUpperCase(),
        path,
        summary: raw.summary,
        description: raw.description ?? '',
        tag: raw.tags[0] ?? '',
        effect: raw['x-effect'] ?? '',
        right: raw['x-access'] === 'granted' ? raw['x-endpoint-id'] : undefined,
        inPath: parameters.filter((one) => one.in === 'path'),
        inQuery: parameters.filter((one) => one.in === 'query'),
        body: body?.schema,
        example: body?.example,
      })
    }
  }
  return { operations, whole }
}

/** Returns the required fields of the body. */
export const requiredOf = ({ body }: Operation): readonly string[] =>
  (body === undefined ? undefined : api.value?.whole(body).required) ?? []

/** The control for a value. */
export type Kind =
  | { readonly kind: 'text' | 'long' | 'secret' | 'number' | 'switch' | 'json' | 'fixed' }
  | { readonly kind: 'choice'; readonly values: readonly unknown[] }
  | { readonly kind: 'record'; readonly sections: readonly string[] }
  | { readonly kind: 'list'; readonly items: Schema }
  | { readonly kind: 'fields' }
  | { readonly kind: 'forms'; readonly forms: readonly Schema[] }

export interface Asked {
  readonly schema: Schema
  readonly how: Kind
  readonly isNullable: boolean
}

const SECRET = /(password|secret|passphrase|privateKey)$/i
const LONG = 400
/** Certificates and keys consist of lines, whatever length they may have. */
const LINES = /\bPEM\b/

const isNull = ({ type, ...more }: Schema) =>
  type === 'null' && Object.keys(more).every((name) => name === 'description')
const typeOf = ({ type }: Schema): string => (typeof type === 'string' ? type : (type?.[0] ?? ''))

/** Returns the control for a field, by its schema behind references and null. */
export function askedOf(raw: Schema, name: string, { whole }: Api): Asked {
  const outer = whole(raw)
  const forms = (outer.anyOf ?? []).map(whole).flatMap((form) => textAndNumber(form) ?? [form])
  const isNullable = forms.some(isNull)
  const { anyOf: _, ...beside } = outer
  const some = forms.filter((form) => !isNull(form) && form.title !== 'ByName' && !isByName(form))
  const [only] = some
  const schema = forms.length === 0 ? outer : some.length === 1 && only !== undefined ? { ...only, ...beside } : outer
  return { schema, how: kindOf(schema, name, some), isNullable }
}

/** Unwraps a text or number that is nested in an optional field. */
const textAndNumber = ({ anyOf }: Schema): readonly Schema[] | undefined =>
  anyOf?.every(({ type }) => type === 'string' || type === 'integer') === true ? anyOf : undefined

/** The API accepts `{name}` in place of a record's id; the page uses ids. */
const isByName = ({ properties, required }: Schema) =>
  properties !== undefined && Object.keys(properties).join() === 'name' && required?.join() === 'name'

function kindOf(schema: Schema, name: string, forms: readonly Schema[]): Kind {
  const sections = schema['x-refers-to']
  if (sections !== undefined) return { kind: 'record', sections }
  if (schema.const !== undefined) return { kind: 'fixed' }
  if (schema.enum !== undefined) return { kind: 'choice', values: schema.enum }
  // An address of either family is entered as one text.
  if (forms.length > 1 && typeOf(schema) !== 'string') return ofForms(forms)
  return OF_TYPE[typeOf(schema)]?.(schema, name) ?? { kind: 'json' }
}

const OF_TYPE: Readonly<Record<string, (schema: Schema, name: string) => Kind>> = {
  boolean: () => ({ kind: 'switch' }),
  integer: () => ({ kind: 'number' }),
  number: () => ({ kind: 'number' }),
  string: ({ maxLength = 0, description = '' }, name) => {
    if (LINES.test(description)) return { kind: 'long' }
    return { kind: SECRET.test(name) ? 'secret' : maxLength > LONG ? 'long' : 'text' }
  },
  array: ({ items }) => (items === undefined ? { kind: 'json' } : { kind: 'list', items }),
  object: ({ properties }) => ({ kind: properties === undefined ? 'json' : 'fields' }),
}

/**
 * Returns the control for alternatives: a switch for a boolean that may also be spelled out, a number for a port that
 * may be empty, a text for `15m` or 900, a choice for objects of several shapes.
 */
function ofForms(forms: readonly Schema[]): Kind {
  if (forms.every(({ properties }) => properties !== undefined)) return { kind: 'forms', forms }
  const types = new Set(forms.map(typeOf))
  if (types.has('boolean') && forms.every((form) => typeOf(form) === 'boolean' || form.enum?.includes('true')))
    return { kind: 'switch' }
  if (types.has('integer') && forms.some((form) => form.enum !== undefined)) return { kind: 'number' }
  if ([...types].toSorted().join() === 'integer,string') return { kind: 'text' }
  if (forms.every((form) => form.const !== undefined))
    return { kind: 'choice', values: forms.map((form) => form.const) }
  return { kind: 'json' }
}

/** Trims spaces pasted around a word; in other texts they may be intended. */
export function asMeant({ pattern }: Schema, text: string): string {
  const word = text.trim()
  if (pattern === undefined) return /\s/.test(word) ? text : word
  const taken = new RegExp(pattern, 'u')
  return !taken.test(text) && taken.test(word) ? word : text
}

/** Returns the field that tells the shapes of an object apart, such as `type`. */
export function markOf(forms: readonly Schema[]): string | undefined {
  const [first] = forms
  return Object.keys(first?.properties ?? {}).find((name) =>
    forms.every(({ properties }) => properties?.[name]?.const !== undefined || properties?.[name]?.enum?.length === 1),
  )
}
export const markedAs = (form: Schema, mark: string): unknown =>
  form.properties?.[mark]?.const ?? form.properties?.[mark]?.enum?.[0]
