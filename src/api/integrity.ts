import type { TSchema } from 'typebox'
import type { Endpoint } from './endpoint.ts'
import { placeholders } from './reply.ts'

/** Faults of an endpoint table that the compiler cannot see; the daemon refuses to start on any. */
export function tableFaults(endpoints: readonly Endpoint[]): readonly string[] {
  const faults = duplicates(endpoints)
  for (const endpoint of endpoints) {
    const title = `${endpoint.method} ${endpoint.path}`
    if (endpoint.method === 'GET' && endpoint.effect !== 'read') faults.push(`${title}: a GET must only read`)
    const known = new Set([...endpoint.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]))
    for (const name of Object.keys(propertiesOf(endpoint.data))) known.add(name)
    for (const name of placeholders(endpoint.message)) {
      if (!known.has(name)) faults.push(`${title}: the message names {${name}}, which is neither parameter nor data`)
    }
    for (const [part, schema] of [
      ['body', endpoint.body],
      ['query', endpoint.query],
      ['data', endpoint.data],
    ] as const) {
      for (const path of undescribed(schema)) faults.push(`${title}: ${part}${path} has no description`)
    }
  }
  return faults
}

/** The daemon starts on a table without faults only. */
export function assertTable(endpoints: readonly Endpoint[]): void {
  const faults = tableFaults(endpoints)
  if (faults.length > 0) throw new Error(`the endpoint table is wrong: ${faults.join('; ')}`)
}

/** The leftmost fixed segment decides between two paths, so only paths that differ in parameter names are ambiguous. */
function duplicates(endpoints: readonly Endpoint[]): string[] {
  const seen = new Set<string>()
  const faults: string[] = []
  for (const endpoint of endpoints) {
    const keys = [`${endpoint.method} ${endpoint.path.replace(/\{\w+\}/g, '{}')}`, `name ${endpoint.name}`]
    for (const key of keys) {
      if (seen.has(key)) faults.push(`${key} is declared twice`)
      seen.add(key)
    }
  }
  return faults
}

function propertiesOf(schema: TSchema | undefined): Readonly<Record<string, TSchema>> {
  const properties: unknown = schema === undefined ? undefined : Reflect.get(schema, 'properties')
  return typeof properties === 'object' && properties !== null ? (properties as Record<string, TSchema>) : {}
}

function undescribed(schema: TSchema | undefined, path = ''): readonly string[] {
  if (schema === undefined) return []
  const items: unknown = Reflect.get(schema, 'items')
  const inItems = typeof items === 'object' && items !== null ? undescribed(items, `${path}[]`) : []
  const forms: unknown = Reflect.get(schema, 'anyOf')
  const inForms = Array.isArray(forms) ? forms.flatMap((form: TSchema) => undescribed(form, path)) : []
  const own = Object.entries(propertiesOf(schema)).flatMap(([name, property]) => [
    ...(typeof Reflect.get(property, 'description') === 'string' ? [] : [`${path}.${name}`]),
    ...undescribed(property, `${path}.${name}`),
  ])
  return [...own, ...inItems, ...inForms]
}
