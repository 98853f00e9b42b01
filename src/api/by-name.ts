import { type TSchema, Type } from 'typebox'
import type { Endpoint } from './endpoint.ts'
import { ApiError, type FieldError } from '../base/errors.ts'
import { nameKey } from '../base/name-key.ts'
import type { ContextOf } from '../context/context.ts'
import { closed, referredBy } from '../model/fields.ts'
import { BUILT_IN_CHECKS } from '../model/health-check.ts'
import { SECTION_NAMES, SECTIONS, type SectionName } from '../model/sections.ts'

/**
 * Wherever a body has the id of a record, `{"name": …}` is accepted as well. Handlers see ids: the schema says which
 * fields hold ids, and names are looked up in the candidate when the change has its turn.
 */

export const Named = closed(
  {
    name: Type.String({ minLength: 1, maxLength: 256, description: 'Name of the record, not case-sensitive.' }),
  },
  'Reference to the record by name.',
  'ByName',
)

const formsOf = (schema: TSchema): readonly TSchema[] => Reflect.get(schema, 'anyOf') ?? []
const itemsOf = (schema: TSchema): TSchema | undefined => Reflect.get(schema, 'items') as TSchema | undefined
const propertiesOf = (schema: TSchema): Readonly<Record<string, TSchema>> => Reflect.get(schema, 'properties') ?? {}
const partsOf = (schema: TSchema): readonly TSchema[] => {
  const items = itemsOf(schema)
  return [...formsOf(schema), ...(items === undefined ? [] : [items]), ...Object.values(propertiesOf(schema))]
}

const holding = new WeakMap<TSchema, boolean>()

function holdsReference(schema: TSchema): boolean {
  let holds = holding.get(schema)
  if (holds === undefined) {
    holds = referredBy(schema) !== undefined || partsOf(schema).some((part) => holdsReference(part))
    holding.set(schema, holds)
  }
  return holds
}

/** Replaces each reference in the schema by other forms. */
function replaced(schema: TSchema, by: (reference: TSchema) => readonly TSchema[]): TSchema {
  // A part without references is returned unchanged: a copy would lose what is not data, such as a rule.
  if (!holdsReference(schema)) return schema
  const made = replacedInside(schema, by)
  return Type.IsOptional(schema) ? Type.Optional(made) : made
}

function replacedInside(schema: TSchema, by: (reference: TSchema) => readonly TSchema[]): TSchema {
  if (referredBy(schema) !== undefined) {
    const [only, ...others] = by(schema)
    if (only !== undefined && others.length === 0) return only
    return Type.Union([...by(schema)], { description: String(Reflect.get(schema, 'description')) })
  }
  const [forms, items] = [formsOf(schema), itemsOf(schema)]
  if (forms.length > 0)
    return { ...schema, anyOf: forms.flatMap((form) => (referredBy(form) ? by(form) : [replaced(form, by)])) }
  if (items !== undefined) return { ...schema, items: replaced(items, by) }
  const properties = Object.entries(propertiesOf(schema)).map(([name, property]) => [name, replaced(property, by)])
  return { ...schema, properties: Object.fromEntries(properties) }
}

/** Returns the schema with names allowed for every reference. */
const withNames = (schema: TSchema): TSchema => replaced(schema, (reference) => [reference, Named])

/** Returns the schema with a name, as a text, for every reference. */
export const withPlainNames = (schema: TSchema): TSchema => replaced(schema, (reference) => [plainName(reference)])

function plainName(reference: TSchema): TSchema {
  const labels = sectionsOf(referredBy(reference) ?? []).map((section) => SECTIONS[section].label)
  const isNeeded = Number(Reflect.get(reference, 'minLength') ?? 0) > 0
  return Type.String({
    minLength: isNeeded ? 1 : 0,
    maxLength: 256,
    description: `Name of the ${labels.join(' or ')}${isNeeded ? '' : '; empty: none'}.`,
  })
}

const sectionsOf = (names: readonly string[]) => SECTION_NAMES.filter((section) => names.includes(section))

/** Replaces the references in a value. */
interface Replacing {
  reference(value: unknown, sections: readonly string[], at: string): unknown
  /** Called for each list after its entries were replaced. */
  list?(schema: TSchema, entries: readonly unknown[], inside: (index: number) => string): void
}

/** Returns the value with each reference replaced. */
export function mapReferences(schema: TSchema, value: unknown, by: Replacing, at = ''): unknown {
  if (!holdsReference(schema)) return value
  const sections = referredBy(schema)
  if (sections !== undefined) return by.reference(value, sections, at)
  const inside = (name: string | number) => (at === '' ? String(name) : `${at}.${name}`)
  let found = value
  for (const form of formsOf(schema)) found = mapReferences(form, found, by, at)
  const items = itemsOf(schema)
  if (items !== undefined && Array.isArray(found)) {
    const list = found.map((item, index) => mapReferences(items, item, by, inside(index)))
    by.list?.(schema, list, inside)
    return list
  }
  const properties = propertiesOf(schema)
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return found
  const entries = Object.entries(found).map(([name, field]) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    return [name, property === undefined ? field : mapReferences(property, field, by, inside(name))]
  })
  return Object.fromEntries(entries)
}

/** The context in which names are looked up. */
type Looking = Pick<ContextOf['read'], 'section'>

/** Replaces names by ids, and collects the problems with names. */
export class Lookup implements Replacing {
  readonly #ctx: Looking
  readonly #isPlain: boolean
  readonly #known = new Map<string, ReadonlyMap<string, readonly string[]>>()
  readonly errors: FieldError[] = []
  /** The records that share a name that was looked up. */
  readonly candidates: { readonly field: string; readonly ids: readonly string[] }[] = []

  /** `isPlain`: names are given as texts, and ids are not accepted. */
  constructor(ctx: Looking, isPlain = false) {
    this.#ctx = ctx
    this.#isPlain = isPlain
  }

  reference(value: unknown, sections: readonly string[], at: string): unknown {
    if (this.#isPlain) return typeof value === 'string' && value !== '' ? this.#idOf(value, sections, at) : value
    return isNamed(value) ? this.#idOf(value.name, sections, at) : value
  }

  list(schema: TSchema, ids: readonly unknown[], inside: (index: number) => string): void {
    if (Reflect.get(schema, 'uniqueItems') !== true) return
    const seen = new Set()
    for (const [index, id] of ids.entries()) {
      if (typeof id !== 'string') continue
      if (seen.has(id)) this.errors.push({ field: inside(index), code: 'NOT_UNIQUE', message: 'already exists' })
      seen.add(id)
    }
  }

  #idOf(name: string, sections: readonly string[], field: string): unknown {
    const wanted = sectionsOf(sections)
    const ids = wanted.flatMap((section) => this.#named(section).get(nameKey(name)) ?? [])
    const [id] = ids
    if (id !== undefined && ids.length === 1) return id
    const what = wanted.map((section) => SECTIONS[section].label).join(' or ')
    if (id === undefined)
      this.errors.push({ field, code: 'UNKNOWN_NAME', message: `there is no ${what} named ${name}` })
    else {
      const message = `there is more than one ${what} named ${name}, with the ids ${ids.join(', ')}: send one of these`
      this.errors.push({ field, code: 'AMBIGUOUS_NAME', message })
      this.candidates.push({ field, ids })
    }
    return undefined
  }

  #named(section: SectionName): ReadonlyMap<string, readonly string[]> {
    const known = this.#known.get(section)
    if (known !== undefined) return known
    const { nameField } = SECTIONS[section]
    const names = new Map<string, string[]>()
    const add = (name: string, id: string) => names.set(nameKey(name), [...(names.get(nameKey(name)) ?? []), id])
    if (section === 'healthChecks') for (const id of BUILT_IN_CHECKS) add(id, id)
    for (const record of this.#ctx.section(section).list()) add(String(Reflect.get(record, nameField)), record.id)
    this.#known.set(section, names)
    return names
  }
}

const isNamed = (value: unknown): value is { readonly name: string } =>
  typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string'

function idsIn(schema: TSchema, body: unknown, ctx: Looking): unknown {
  const lookup = new Lookup(ctx)
  const ids = mapReferences(schema, body, lookup)
  const { errors, candidates } = lookup
  if (errors.length === 0) return ids
  const list = errors.slice(0, 5).map(({ field, message }) => `${field}: ${message}`)
  throw new ApiError('INVALID_BODY', `The body names unknown or ambiguous records: ${list.join('; ')}`, {
    errors,
    ...(candidates.length === 0 ? {} : { data: { candidates } }),
  })
}

function taking(endpoint: Endpoint, body: TSchema): Endpoint {
  const { prepare, handle } = endpoint
  const withIds = (ctx: Looking, request: { readonly body: unknown }): never =>
    ({ ...request, body: idsIn(body, request.body, ctx) }) as never
  return {
    ...endpoint,
    body: withNames(body),
    prepare: prepare && (async (ctx: never, request: never) => prepare(ctx, withIds(ctx, request))),
    handle: (ctx: never, request: never, prepared: never) => handle(ctx, withIds(ctx, request), prepared),
  }
}

/** Returns the table with names allowed for every reference in a body. */
export const takingNames = (table: readonly Endpoint[]): readonly Endpoint[] =>
  table.map((endpoint) => {
    const { body } = endpoint
    return body === undefined || !holdsReference(body) ? endpoint : taking(endpoint, body)
  })
