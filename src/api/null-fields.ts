import { type TObject, type TSchema, Type } from 'typebox'

/** What null stands for in the optional fields of a body. */
export type WhenNull = Readonly<Record<string, unknown>>

type Body = Readonly<Record<string, unknown>>

/** Whether the schema takes null of itself. */
function takesNull(schema: TSchema): boolean {
  const forms: unknown = Reflect.get(schema, 'anyOf')
  return Reflect.get(schema, 'type') === 'null' || (Array.isArray(forms) && forms.some(takesNull))
}

const orNull = (schema: TSchema): TSchema => {
  if (takesNull(schema)) return schema
  const description = String(Reflect.get(schema, 'description'))
  return Type.Optional(Type.Union([schema, Type.Null()], { description: `${description} null: as if never chosen.` }))
}

/** The schema of a body of which these fields may be null. */
export function withNulls(body: TObject, whenNull: WhenNull): TObject {
  const properties = Object.entries(body.properties).map(([name, schema]) => [
    name,
    name in whenNull ? orNull(schema) : schema,
  ])
  return { ...body, properties: Object.fromEntries(properties) }
}

/** The body with what null stands for in its place. */
export function withoutNulls(body: Body, whenNull: WhenNull): Body {
  const isNull = (name: string) => body[name] === null && Object.hasOwn(whenNull, name)
  if (!Object.keys(body).some(isNull)) return body
  // A copy each: what is stored may be changed, what is said here never.
  const entries = Object.entries(body).map(([name, value]) => [
    name,
    isNull(name) ? structuredClone(whenNull[name]) : value,
  ])
  return Object.fromEntries(entries)
}
