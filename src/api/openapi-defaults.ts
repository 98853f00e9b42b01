import type { Endpoint } from './endpoint.ts'
import type { Json } from './openapi-responses.ts'

/**
 * Returns the values of a record created without optional fields: those that null stands for, by `whenNull` of the
 * endpoints that create and change it.
 */
export function defaultsOf({ name, whenNull }: Endpoint, table: readonly Endpoint[]): Json {
  const [resource, verb] = name.split('.')
  if (verb !== 'create') return {}
  const change = table.find((other) => other.name === `${resource}.update`)
  return { ...change?.whenNull, ...whenNull }
}

/** Returns the schema of a body with these defaults in its optional fields. */
export function withDefaults(schema: Json, defaults: Json): Json {
  const { properties, required = [] } = schema as { readonly properties?: Json; readonly required?: readonly string[] }
  if (properties === undefined || Object.keys(defaults).length === 0) return schema
  const fields = Object.entries(properties).map(([name, field]): readonly [string, unknown] =>
    Object.hasOwn(defaults, name) && !required.includes(name)
      ? [name, { ...Object(field), default: defaults[name] }]
      : [name, field],
  )
  return { ...schema, properties: Object.fromEntries(fields) }
}
