import { signal } from '@preact/signals'
import { read } from './api.ts'

/** The API as its own document describes it: what forms are made of. */

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
  /** The right that it takes, where it takes one. */
  readonly right: string | undefined
  readonly inPath: readonly Parameter[]
  readonly inQuery: readonly Parameter[]
  readonly body: Schema | undefined
  readonly example: unknown
}

export interface Api {
  readonly operations: ReadonlyMap<string, Operation>
  /** The schema that a reference stands for, with what is said beside it. */
  readonly whole: (schema: Schema) => Schema
}

const METHODS = ['get', 'post', 'put', 'delete'] as const

export const api = signal<Api | undefined>(undefined)
let asked: Promise<void> | undefined

/** Asked for by the first form, and kept. */
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

/** Fields that its body is never without. */
export const requiredOf = ({ body }: Operation): readonly string[] =>
  (body === undefined ? undefined : api.value?.whole(body).required) ?? []

/** How a value is asked for. */
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

const isNull = ({ type, ...more }: Schema) =>
  type === 'null' && Object.keys(more).every((name) => name === 'description')
const typeOf = ({ type }: Schema): string => (typeof type === 'string' ? type : (type?.[0] ?? ''))

/** What is asked for, of the whole schema behind references and null. */
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

/** What may be left out stands around what may be either. */
const textAndNumber = ({ anyOf }: Schema): readonly Schema[] | undefined =>
  anyOf?.every(({ type }) => type === 'string' || type === 'integer') === true ? anyOf : undefined

/** A record may be named by `{name}` in place of its id; the page knows ids. */
const isByName = ({ properties, required }: Schema) =>
  properties !== undefined && Object.keys(properties).join() === 'name' && required?.join() === 'name'

function kindOf(schema: Schema, name: string, forms: readonly Schema[]): Kind {
  const sections = schema['x-refers-to']
  if (sections !== undefined) return { kind: 'record', sections }
  if (schema.const !== undefined) return { kind: 'fixed' }
  if (schema.enum !== undefined) return { kind: 'choice', values: schema.enum }
  // An address of either family is one text all the same.
  if (forms.length > 1 && typeOf(schema) !== 'string') return ofForms(forms)
  return OF_TYPE[typeOf(schema)]?.(schema, name) ?? { kind: 'json' }
}

const OF_TYPE: Readonly<Record<string, (schema: Schema, name: string) => Kind>> = {
  boolean: () => ({ kind: 'switch' }),
  integer: () => ({ kind: 'number' }),
  number: () => ({ kind: 'number' }),
  string: ({ maxLength = 0 }, name) => ({ kind: SECRET.test(name) ? 'secret' : maxLength > LONG ? 'long' : 'text' }),
  array: ({ items }) => (items === undefined ? { kind: 'json' } : { kind: 'list', items }),
  object: ({ properties }) => ({ kind: properties === undefined ? 'json' : 'fields' }),
}

/** A port that may be left empty is a number, and `15m` or 900 a text; objects of several shapes are chosen from. */
function ofForms(forms: readonly Schema[]): Kind {
  if (forms.every(({ properties }) => properties !== undefined)) return { kind: 'forms', forms }
  const types = new Set(forms.map(typeOf))
  if (types.has('integer') && forms.some((form) => form.enum !== undefined)) return { kind: 'number' }
  if ([...types].toSorted().join() === 'integer,string') return { kind: 'text' }
  if (forms.every((form) => form.const !== undefined))
    return { kind: 'choice', values: forms.map((form) => form.const) }
  return { kind: 'json' }
}

/** Spaces that were pasted with a word are not meant; around whatever else a field takes they may be. */
export function asMeant({ pattern }: Schema, text: string): string {
  const word = text.trim()
  if (pattern === undefined) return /\s/.test(word) ? text : word
  const taken = new RegExp(pattern, 'u')
  return !taken.test(text) && taken.test(word) ? word : text
}

/** What tells the shapes of an object apart, such as `type`. */
export function markOf(forms: readonly Schema[]): string | undefined {
  const [first] = forms
  return Object.keys(first?.properties ?? {}).find((name) =>
    forms.every(({ properties }) => properties?.[name]?.const !== undefined || properties?.[name]?.enum?.length === 1),
  )
}
export const markedAs = (form: Schema, mark: string): unknown =>
  form.properties?.[mark]?.const ?? form.properties?.[mark]?.enum?.[0]
