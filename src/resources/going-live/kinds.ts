import { isDeepStrictEqual } from 'node:util'
import { type TObject, type TSchema, Type } from 'typebox'
import type { Endpoint } from '../../api/endpoint.ts'
import { headersOf } from '../../health-checks/declarations.ts'
import { closed } from '../../model/fields.ts'
import { SECTIONS, type SectionName } from '../../model/sections.ts'
import { mapReferences, withPlainNames } from '../../api/by-name.ts'

/**
 * The possible contents of a document of the configuration. It uses the words of the API: a record has the fields of
 * its create request, and an absent field means the same.
 */

export type Json = Readonly<Record<string, unknown>>

/** Maximum number of records of one kind in a document: checking them blocks the main thread for a moment. */
const RECORDS_MAX = 5_000

/** The fields that both kinds of records have. */
interface Fields {
  readonly section: SectionName
  readonly update: Endpoint
  /** Schema of the API, with ids. */
  readonly sent: TObject
  /** Schema of a document, with names. */
  readonly fields: TObject
  /** The values of absent fields. */
  readonly defaults: Json
  /** Fields that keep their stored value when absent. */
  readonly kept: readonly string[]
  /** Converts a stored record into the fields of its create request, with ids. */
  readonly ofStored: (stored: Json) => Json
  /** Name of the endpoint that shows these records. */
  readonly shownBy: string
  /** Removes fields that say nothing beside the others. */
  readonly tidy: (fields: Json) => Json
}

/** A kind whose records have names. */
export interface RecordKind extends Fields {
  /** Maximum number in one document. */
  readonly records_max: number
  readonly create: Endpoint
  readonly remove: Endpoint
  readonly nameField: string
  /** Schema of a name. */
  readonly name: TSchema
}

/** A kind with a single record. */
export type SettingsKind = Fields

type More = Partial<Pick<Fields, 'kept' | 'ofStored' | 'tidy'>> & { readonly defaults?: Json; readonly max?: number }

const AS_IT_IS = (value: Json): Json => value

type Table = readonly Endpoint[]

function named(table: Table, name: string): Endpoint {
  const found = table.find((endpoint) => endpoint.name === name)
  if (found === undefined) throw new Error(`there is no endpoint ${name}`)
  return found
}

const propertiesOf = ({ body }: Endpoint): Readonly<Record<string, TSchema>> => Reflect.get(body ?? {}, 'properties')

function fieldsOf(section: SectionName, update: Endpoint, properties: Readonly<Record<string, TSchema>>, more: More) {
  const defaults = { ...update.whenNull, ...more.defaults }
  const { kept = [], ofStored = AS_IT_IS, tidy = AS_IT_IS } = more
  const wanted = Object.entries(properties).map(([name, schema]) => {
    const plain = withPlainNames(schema)
    return [name, name in defaults ? Type.Optional(plain) : plain] as const
  })
  return {
    section,
    update,
    sent: closed(properties),
    fields: closed(Object.fromEntries(wanted)),
    defaults,
    kept,
    ofStored,
    tidy,
  }
}

function records(table: Table, section: SectionName, more: More = {}): RecordKind {
  const endpointOf = (verb: string) => named(table, `${section}.${verb}`)
  const [create, update, remove] = [endpointOf('create'), endpointOf('update'), endpointOf('delete')]
  const { nameField } = SECTIONS[section]
  const { [nameField]: name, ...properties } = propertiesOf(create)
  if (name === undefined) throw new Error(`a record of ${section} is created without its ${nameField}`)
  const shownBy = endpointOf('list').name
  const { max = RECORDS_MAX } = more
  const fields = fieldsOf(section, update, properties, more)
  return { ...fields, shownBy, records_max: max, create, remove, nameField, name }
}

function settings(table: Table, section: SectionName, name: string, more: More = {}): SettingsKind {
  const update = named(table, name)
  const shownBy = named(table, name.replace('.update', '.get')).name
  return { ...fieldsOf(section, update, propertiesOf(update), more), shownBy }
}

/** The kinds that a document may have. */
export interface Kinds {
  /** Each refers only to kinds before it, so that a name is known when it is looked up. */
  readonly inOrder: readonly (RecordKind | SettingsKind)[]
  readonly records: readonly RecordKind[]
  readonly settings: readonly SettingsKind[]
  /** In the order of a document. */
  readonly sections: readonly SectionName[]
}

export const hasRecords = (kind: RecordKind | SettingsKind): kind is RecordKind => 'create' in kind

/** Derives the kinds from the API's endpoints for their records. */
export function kindsOf(table: Table): Kinds {
  const own = (section: SectionName, more?: More) => records(table, section, more)
  const inOrder = [
    own('healthChecks', { defaults: { parameters: null }, tidy: withoutOwnParameters, max: 1_000 }),
    own('certificates', { ofStored: ({ chain, owner }) => ({ pem: chain, owner }) }),
    own('cipherLists', { max: 1_000 }),
    own('ipGroups', { kept: ['assignedInterfaces'], max: 1_000 }),
    own('floatingIps'),
    // Operators drain and halt servers while they work on them, so a document does not decide the state.
    own('realServers', { defaults: { port: null }, kept: ['state'], max: 20_000 }),
    own('l4Backends'),
    own('l7Backends'),
    own('l4Frontends'),
    // Layer 7 frontends may forward their logs to it.
    settings(table, 'syslogServers', 'syslogServer.update', { defaults: { transport: 'tls' } }),
    own('l7Frontends'),
    settings(table, 'l7Raw', 'l7Raw.update'),
  ]
  const kindsWithRecords = inOrder.filter(hasRecords)
  const others = inOrder.filter((kind) => !hasRecords(kind))
  const sections = [...kindsWithRecords, ...others].map(({ section }) => section)
  return { inOrder, records: kindsWithRecords, settings: others, sections }
}

/** Removes parameters that the script declares itself. */
function withoutOwnParameters({ parameters, ...others }: Json): Json {
  const inScript = headersOf(String(others['script'])).parameters
  return parameters == null || isDeepStrictEqual(parameters, inScript) ? others : { ...others, parameters }
}

/** Removes fields that have their default. Of fields that keep their stored value when absent, the default stays. */
export const tidied = (kind: Fields, fields: Json): Json => without(kind, fields, kind.kept)

function without({ defaults, tidy }: Fields, fields: Json, said: readonly string[]): Json {
  const isSilent = (name: string, value: unknown) =>
    value === undefined || (name in defaults && !said.includes(name) && isDeepStrictEqual(value, defaults[name]))
  return Object.fromEntries(Object.entries(tidy(fields)).filter(([name, value]) => !isSilent(name, value)))
}

/** Returns a stored record in the form of a document, without its name; `nameOf` finds the names of others. */
export function documented(
  kind: Fields,
  stored: Json,
  nameOf: (id: string, sections: readonly string[]) => string,
): Json {
  const told = kind.ofStored(stored)
  // In the order of the schema.
  const fields = Object.keys(kind.sent.properties).flatMap((name) => (name in told ? [[name, told[name]]] : []))
  const reference = (value: unknown, sections: readonly string[]) =>
    typeof value === 'string' && value !== '' ? nameOf(value, sections) : value
  return without(kind, mapReferences(kind.sent, Object.fromEntries(fields), { reference }) as Json, [])
}

/**
 * Returns the fields that differ from the document, including the owner; fields that keep their stored value may be
 * absent in it.
 */
export function differing({ kept, defaults }: Fields, is: Json, wanted: Json): readonly string[] {
  const isKept = (name: string) => kept.includes(name)
  const old = (name: string) => (isKept(name) && !(name in is) ? defaults[name] : is[name])
  return Object.keys({ ...is, ...wanted }).filter(
    (name) => (name in wanted || !isKept(name)) && !isDeepStrictEqual(old(name), wanted[name]),
  )
}

/** Returns the body of a request that changes these fields; `body` has the document's values, with ids. */
export function changing({ update, defaults }: Fields, fields: readonly string[], body: Json): Json {
  const required: readonly string[] = Reflect.get(update.body ?? {}, 'required') ?? []
  const names = new Set([...required.filter((name) => name in body || name in defaults), ...fields])
  return Object.fromEntries(
    [...names].map((name) => [name, name in body ? body[name] : structuredClone(defaults[name])]),
  )
}
