import { type TSchema, Type } from 'typebox'
import type { Endpoint } from '../api/endpoint.ts'
import { ApiError, type FieldError } from '../base/errors.ts'
import type { ContextOf } from '../context/context.ts'
import { closed, referredBy } from '../model/fields.ts'
import { BUILT_IN_CHECKS } from '../model/health-check.ts'
import { SECTION_NAMES, SECTIONS, type SectionName } from '../model/sections.ts'

/**
 * Wherever a body takes the id of a record, it takes `{"name": …}` as well. Handlers see ids: the schema says which
 * fields hold some, and names are looked up in the candidate when the change has its turn.
 */

const Named = closed({
  name: Type.String({ minLength: 1, maxLength: 256, description: 'Name of the record instead, whatever its case.' }),
})

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

/** The schema in which every reference may be a name. */
function withNames(schema: TSchema): TSchema {
  // What holds none stays the very same: a copy would lose what is no data, such as a rule.
  if (!holdsReference(schema)) return schema
  const made = both(schema)
  return Type.IsOptional(schema) ? Type.Optional(made) : made
}

function both(schema: TSchema): TSchema {
  if (referredBy(schema) !== undefined)
    return Type.Union([schema, Named], { description: String(Reflect.get(schema, 'description')) })
  const [forms, items] = [formsOf(schema), itemsOf(schema)]
  if (forms.length > 0)
    return { ...schema, anyOf: forms.flatMap((form) => (referredBy(form) ? [form, Named] : [withNames(form)])) }
  if (items !== undefined) return { ...schema, items: withNames(items) }
  const properties = Object.entries(propertiesOf(schema)).map(([name, property]) => [name, withNames(property)])
  return { ...schema, properties: Object.fromEntries(properties) }
}

/** Of what a name is looked up in. */
type Looking = Pick<ContextOf['read'], 'section'>

/** Puts ids in the place of names, and gathers what is wrong with these. */
class Lookup {
  readonly #ctx: Looking
  readonly #known = new Map<string, ReadonlyMap<string, readonly string[]>>()
  readonly errors: FieldError[] = []
  /** The records that have a name of which there is more than one. */
  readonly candidates: { readonly field: string; readonly ids: readonly string[] }[] = []

  constructor(ctx: Looking) {
    this.#ctx = ctx
  }

  /** The value with ids only. */
  ids(schema: TSchema, value: unknown, at = ''): unknown {
    if (!holdsReference(schema)) return value
    const sections = referredBy(schema)
    if (sections !== undefined) return isNamed(value) ? this.#idOf(value.name, sections, at) : value
    const inside = (name: string | number) => (at === '' ? String(name) : `${at}.${name}`)
    let found = value
    for (const form of formsOf(schema)) found = this.ids(form, found, at)
    const items = itemsOf(schema)
    if (items !== undefined && Array.isArray(found)) {
      const list = found.map((item, index) => this.ids(items, item, inside(index)))
      if (Reflect.get(schema, 'uniqueItems') === true) this.#refuseRepeated(list, inside)
      return list
    }
    const properties = propertiesOf(schema)
    if (typeof found !== 'object' || found === null || Array.isArray(found)) return found
    const entries = Object.entries(found).map(([name, field]) => {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined
      return [name, property === undefined ? field : this.ids(property, field, inside(name))]
    })
    return Object.fromEntries(entries)
  }

  #refuseRepeated(ids: readonly unknown[], inside: (index: number) => string): void {
    const seen = new Set()
    for (const [index, id] of ids.entries()) {
      if (typeof id !== 'string') continue
      if (seen.has(id)) this.errors.push({ field: inside(index), code: 'NOT_UNIQUE', message: 'is there already' })
      seen.add(id)
    }
  }

  #idOf(name: string, sections: readonly string[], field: string): unknown {
    const wanted = SECTION_NAMES.filter((section) => sections.includes(section))
    const ids = wanted.flatMap((section) => this.#named(section).get(name.toLowerCase()) ?? [])
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
    const add = (name: string, id: string) =>
      names.set(name.toLowerCase(), [...(names.get(name.toLowerCase()) ?? []), id])
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
  const ids = lookup.ids(schema, body)
  const { errors, candidates } = lookup
  if (errors.length === 0) return ids
  const list = errors.slice(0, 5).map(({ field, message }) => `${field}: ${message}`)
  throw new ApiError('INVALID_BODY', `The body names records that cannot be told: ${list.join('; ')}`, {
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

/** The table in which every reference in a body may be a name. */
export const takingNames = (table: readonly Endpoint[]): readonly Endpoint[] =>
  table.map((endpoint) => {
    const { body } = endpoint
    return body === undefined || !holdsReference(body) ? endpoint : taking(endpoint, body)
  })
