import { type TObject, type TSchema, Type } from 'typebox'

/** The values that null stands for in the optional fields of a body. */
export type WhenNull = Readonly<Record<string, unknown>>

type Body = Readonly<Record<string, unknown>>

/** Returns whether the schema itself accepts null; one without keywords accepts everything. */
function takesNull(schema: TSchema): boolean {
  const { anyOf, type, enum: values } = schema as { anyOf?: TSchema[]; type?: unknown; enum?: unknown }
  return anyOf?.some(takesNull) ?? (type === 'null' || (type === undefined && values === undefined))
}

const orNull = (schema: TSchema): TSchema => {
  if (takesNull(schema)) return schema
  const description = String(Reflect.get(schema, 'description'))
  return Type.Optional(Type.Union([schema, Type.Null()], { description: `${description} null: as if never chosen.` }))
}

/** Returns the schema of a body with null allowed in these fields. */
export function withNulls(body: TObject, whenNull: WhenNull): TObject {
  const properties = Object.entries(body.properties).map(([name, schema]) => [
    name,
    name in whenNull ? orNull(schema) : schema,
  ])
  return { ...body, properties: Object.fromEntries(properties) }
}

/** Returns the body with null replaced by the value it stands for. */
export function withoutNulls(body: Body, whenNull: WhenNull): Body {
  const isNull = (name: string) => body[name] === null && Object.hasOwn(whenNull, name)
  if (!Object.keys(body).some(isNull)) return body
  // Copied, because a stored value may be changed and these constants must not.
  const entries = Object.entries(body).map(([name, value]) => [
    name,
    isNull(name) ? structuredClone(whenNull[name]) : value,
  ])
  return Object.fromEntries(entries)
}

/** Returns the schema, or the forms of a union. */
const formsOf = (schema: TSchema): readonly TSchema[] => {
  const forms: unknown = Reflect.get(schema, 'anyOf')
  return Array.isArray(forms) ? forms.flatMap((form: TSchema) => formsOf(form)) : [schema]
}

/**
 * Returns the body without optional members that are null although their schema does not allow it: programs send those
 * for unset fields. In a change, members of the record itself stay, because null has a meaning there (record 93).
 */
export const withoutUnset = (body: TSchema, value: unknown, isChange: boolean): unknown =>
  pruned([body], value, isChange)

function pruned(schemas: readonly TSchema[], value: unknown, isKept = false): unknown {
  if (typeof value !== 'object' || value === null) return value
  const forms = schemas.flatMap((schema) => formsOf(schema))
  if (Array.isArray(value)) {
    const items = forms.flatMap((form): TSchema[] => Reflect.get(form, 'items') ?? [])
    return items.length === 0 ? value : value.map((item) => pruned(items, item))
  }
  const members = Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
    const knowing = forms.filter((form) => Object.hasOwn(Reflect.get(form, 'properties') ?? {}, name))
    const own = knowing.map((form): TSchema => Reflect.get(form, 'properties')[name])
    const isUnset = member === null && !isKept && own.length > 0 && !own.some(takesNull) && !knowing.some(needs(name))
    return isUnset ? [] : [[name, pruned(own, member)]]
  })
  return Object.fromEntries(members)
}

const needs = (name: string) => (form: TSchema) => Reflect.get(form, 'required')?.includes(name) === true
